"""An agent as a process that speaks JSON lines, so that servers and windows of any kind can play against it.

docs/engine.md describes the protocol. Each line that comes in is one request, a JSON object, and gets exactly one line
as its answer, in order: `{"ok": ...}` or `{"error": ...}`. A request that is answered by an error changes nothing.
What goes out is a function of the agent, the game and the lines that came in, unless the agent's budget is in seconds:
no times, no addresses, no numbers of processes. So the answers cannot tell two worlds apart that the lines do not.

    requests    from a line to a request, or to a sentence that says what is wrong with it
    session     what each request does
    clock       from a clock for the whole game to a budget for one decision
    words       observations and actions in words, from the observations alone
    pipe        lines from one file descriptor to another, and `stop` while an agent thinks
"""

PROTOCOL = 1  # its version; requests may be added to a version, but never change their meaning
