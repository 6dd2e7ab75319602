"""The version of foglight, and since which version its results are the same.

A release is no reason to throw results away: games in a store, cells of a study, data sets and checkpoints are known by
the version of results and, where that is possible, by the code that made them. Raise RESULTS_VERSION to the new version
when a change makes results of our own studies or of training worthless: whoever continues them then starts anew.
"""

__version__ = "0.2.0"
RESULTS_VERSION = "0.1.0"
