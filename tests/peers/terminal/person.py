"""A person at a terminal: runs a demo on a pseudo-terminal, reads its screen, and presses keys as a keyboard does.

usage: person.py plain|kitty PROGRAM [ARGUMENT...]

Approves the first card after reading all of it, denies the second, and lets the stranger of the third not in. Prints what was on the terminal, and ends with the
program's exit status.
"""

import sys

from terminal import Never, Terminal


def decide(terminal):
    page = r"(\d+)/(\d+) (?:request|text)"
    now, last = map(int, terminal.wait(page).groups())
    while now < last:
        mark = len(terminal.seen)
        terminal.press("a", 0.1)
        now = int(terminal.wait(page, mark).group(1))
        terminal.look(0.2)
    mark = len(terminal.seen)
    terminal.look(1)
    # Too short to approve, long enough to be a hold: it is cancelled by letting go.
    terminal.press("a", 1.2)
    terminal.look(1)
    if "Approved, signed" in terminal.seen:
        raise Never(f"approved by a hold of 1.2 s:\n{terminal.seen[-2500:]}")
    terminal.hold_until("a", "Approved, signed", mark)
    terminal.wait("This one is to be denied", mark)
    # The companion still says that the first was approved; a press from before the card would not count.
    terminal.wait(r"1/2 request", mark)
    terminal.look(1)
    mark = len(terminal.seen)
    terminal.press("d", 0.1)
    terminal.wait("Denied. The agent is told")
    terminal.wait("A stranger writes", mark)
    # The card before was drawn again and again since the mark: a page counts from here on.
    mark = len(terminal.seen)
    terminal.wait(r"1/\d+ request", mark)
    terminal.look(1)
    terminal.press("d", 0.1)
    terminal.wait("nobody is asked about them again", mark)


def main():
    terminal = Terminal(sys.argv[1] == "kitty", sys.argv[2:])
    try:
        decide(terminal)
        status, restored = terminal.end()
    except Never as never:
        sys.exit(str(never))
    print(terminal.seen)
    sys.exit(status if restored else "the terminal was not given back as it was")


main()
