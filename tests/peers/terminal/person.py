"""A person at a terminal: runs a demo on a pseudo-terminal, reads its screen, and presses keys as a keyboard does.

usage: person.py plain|kitty PROGRAM [ARGUMENT...]

On a plain terminal a key that stays down repeats and nothing tells when it comes up; one that speaks the kitty keyboard
protocol tells press and release apart. Approves the first card after reading all of it, denies the second. Prints what
was on the terminal, and ends with the program's exit status.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

LONGEST = 60  # seconds for anything to appear
BEFORE_REPEATS, BETWEEN_REPEATS = 0.5, 0.033  # as keyboards are set by default


class Terminal:
    def __init__(self, kitty, command):
        self.kitty, self.seen = kitty, ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 100, 0, 0))

    def look(self, seconds):
        """Takes in what is written for so long; answers what a terminal is asked."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                return True
            try:
                new = os.read(self.fd, 65536)
            except OSError:
                return False
            if not new:
                return False
            self.seen += new.decode("utf-8", "replace")
            # "Which keyboard flags are on?" and "what are you?"; a plain terminal knows only the second question.
            if self.kitty and b"\x1b[?u" in new:
                os.write(self.fd, b"\x1b[?0u")
            if b"\x1b[c" in new:
                os.write(self.fd, b"\x1b[?62c")
        return True

    def wait(self, pattern, since=0):
        until = time.monotonic() + LONGEST
        runs = True
        while True:
            if found := list(re.finditer(pattern, self.seen[since:])):
                return found[-1]
            # Only now: what a program writes last and its end may come in one look.
            if time.monotonic() > until or not runs:
                raise SystemExit(f"never saw {pattern!r} behind:\n{self.seen[-2500:]}")
            runs = self.look(0.05)

    def press(self, key, seconds):
        if self.kitty:
            os.write(self.fd, b"\x1b[%d;1:1u" % ord(key))
            self.look(seconds)
            os.write(self.fd, b"\x1b[%d;1:3u" % ord(key))
            return
        os.write(self.fd, key.encode())
        if seconds > BEFORE_REPEATS:
            self.look(BEFORE_REPEATS)
            until = time.monotonic() + seconds - BEFORE_REPEATS
            while time.monotonic() < until:
                os.write(self.fd, key.encode())
                self.look(BETWEEN_REPEATS)


def main():
    terminal = Terminal(sys.argv[1] == "kitty", sys.argv[2:])
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
        raise SystemExit(f"approved by a hold of 1.2 s:\n{terminal.seen[-2500:]}")
    terminal.press("a", 2.2)
    terminal.wait("Approved, signed", mark)
    terminal.wait("This one is to be denied", mark)
    # The companion still says that the first was approved; a press from before the card would not count.
    terminal.wait(r"1/2 request", mark)
    terminal.look(1)
    terminal.press("d", 0.1)
    terminal.wait("Denied. The agent is told")
    while terminal.look(1):
        pass
    print(terminal.seen)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]))


main()
