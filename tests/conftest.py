"""Property tests draw the same examples every time, and nothing here depends on the speed of the machine."""

from hypothesis import settings

settings.register_profile("foglight", deadline=None, derandomize=True)
settings.load_profile("foglight")
