"""A program on a pseudo-terminal, driven step by step.

usage: driven.py plain|kitty ROWS COLUMNS PROGRAM [ARGUMENT...]

Steps come on standard input, one JSON object a line, each is answered by one:

    {"wait": REGEX}                   what is on the terminal since the last mark -> {"found": [whole, group, ...]}
    {"mark": true}                    what follows is looked for from here on
    {"press": KEY, "seconds": S}      a key, for so long
    {"hold": KEY, "until": REGEX}     a key, for long enough, again until this is on the terminal -> {"found": […]}
    {"type": TEXT}                    text, at once
    {"resize": [ROWS, COLUMNS]}
    {"look": S}                       waits -> {"seen": what was written since the mark}
    {"signal": NAME}                  the program gets it, such as SIGTERM; SIGHUP: the terminal goes away
    {"close": true}                   the terminal is closed under it -> {"status": N} once it has ended
    {"end": true}                     waits for the program's end -> {"status": N, "restored": BOOL}

What does not appear is answered with {"error": TEXT}.
"""

import json
import os
import signal
import sys

from terminal import Never, Terminal


def step(terminal, mark, wanted):
    match wanted:
        case {"wait": pattern}:
            found = terminal.wait(pattern, mark)
            return {"found": [found.group(0), *found.groups()]}
        case {"hold": key, "until": pattern}:
            found = terminal.hold_until(key, pattern, mark)
            return {"found": [found.group(0), *found.groups()]}
        case {"press": key, "seconds": seconds}:
            terminal.press(key, seconds)
        case {"type": text}:
            terminal.type(text)
        case {"resize": [rows, columns]}:
            terminal.resize(rows, columns)
        case {"look": seconds}:
            terminal.look(seconds)
            return {"seen": terminal.seen[mark:]}
        case {"signal": name}:
            os.kill(terminal.pid, signal.Signals[name])
        case {"close": _}:
            return {"status": terminal.close()}
        case {"end": _}:
            status, restored = terminal.end()
            return {"status": status, "restored": restored}
        case _:
            return {"error": f"no such step: {wanted}"}
    return {}


def main():
    rows, columns = int(sys.argv[2]), int(sys.argv[3])
    terminal = Terminal(sys.argv[1] == "kitty", sys.argv[4:], rows, columns)
    mark = 0
    try:
        for line in sys.stdin:
            wanted = json.loads(line)
            if "mark" in wanted:
                terminal.look(0)
                mark = len(terminal.seen)
                answer = {}
            else:
                try:
                    answer = step(terminal, mark, wanted)
                except Never as never:
                    answer = {"error": str(never)}
            print(json.dumps(answer), flush=True)
    finally:
        if terminal.runs():
            os.kill(terminal.pid, signal.SIGKILL)


main()
