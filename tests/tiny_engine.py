"""An engine that knows nothing of foglight: `tiny_engine.py [HOW FILE]`. It plays by a digest of what it is told.

HOW is how it misbehaves at its third `act`, counted in FILE over all of its lives; but `mute` never says anything,
`rude` refuses every game, `dead` dies at every `act`, and `stays` answers well, but does not end with its input. One
that hangs says so with the file FILE.hangs.
"""

import hashlib
import json
import sys
import time


def main(how="", counter=""):
    game = {}
    for line in sys.stdin:
        request = json.loads(line)
        do = request["do"]
        if how == "mute":
            continue
        answer = {"ok": do}
        if do == "hello":
            answer["protocol"] = 2 if how == "modern" else 1
        elif do == "restore":
            game = dict(request)
            if how == "rude":
                answer = {"error": "I play on Sundays only"}
        elif do == "observe":
            game["observations"] = game["observations"] + request["observations"]
        elif do == "act":
            answer["action"] = act(how, counter, game, request["actions"])
        elif do == "explain":
            answer = {"error": "I do not know why"}
        say(json.dumps(answer))
        if do == "quit":
            break
    if how == "stays":
        time.sleep(600)


def act(how, counter, game, actions):
    third = False
    if counter:
        with open(counter, "a") as file:
            file.write("x")
        with open(counter) as file:
            third = len(file.read()) == 3
    if how == "dead" or (how == "dies" and third):
        sys.stderr.write("Traceback\nit hurts\n")
        sys.exit(1)
    if how == "hangs" and third:
        open(f"{counter}.hangs", "w").close()
        time.sleep(600)
    if how == "babbles" and third:
        say("{[}")
    if how == "forgets" and third:
        return None
    if how == "cheats" and third:
        return 99
    known = json.dumps([game["game"], game["seat"], game["seed"], game["observations"]])
    return actions[int(hashlib.sha256(known.encode()).hexdigest(), 16) % len(actions)]


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
