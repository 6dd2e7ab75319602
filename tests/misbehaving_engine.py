"""A UCI engine that plays the first move it is told about and misbehaves on command: `misbehaving_engine.py HOW FILE`.

HOW is how it misbehaves at every third position, counted in FILE over all of its lives; but `mute` never says that it
speaks UCI, `dead` dies at every position, `picky` at those in which black has no queen, and `stays` answers well, but
goes on running when nobody speaks to it any more. One that hangs says so with the file FILE.hangs.
"""

import pathlib
import sys
import time

SCORE = 17


def main(how, counter):
    fen = ""
    for line in sys.stdin:
        words = line.split()
        if words[0] == "uci" and how != "mute":
            say("id name misbehaving\nuciok")
        elif words[0] == "isready":
            say("readyok")
        elif words[0] == "position":
            fen = words[2]
        elif words[0] == "go":
            go(how, counter, fen)
    if how == "stays":
        time.sleep(600)


def go(how, counter, fen):
    with counter.open("a") as file:
        file.write("x")
    third = len(counter.read_text()) % 3 == 0
    if how == "dead" or (how == "dies" and third) or (how == "picky" and "q" not in fen):
        sys.exit(1)
    if how == "hangs" and third:
        counter.with_suffix(".hangs").touch()
        time.sleep(600)
    if how == "babbles" and third:
        say("info score cp many pv \N{SNOWMAN}\nbestmove castle")
    else:
        say(f"info string hello\ninfo depth 1 multipv 1 score cp {SCORE} pv e2e4 e7e5\nbestmove e2e4")


def say(text):
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
