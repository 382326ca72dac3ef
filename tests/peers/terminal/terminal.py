"""A pseudo-terminal with a program on it: its screen as text, and keys as a keyboard gives them.

On a plain terminal a key that stays down repeats and nothing tells when it comes up; one that speaks the kitty keyboard
protocol tells press, repeat and release apart.
"""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

LONGEST = 60  # seconds for anything to appear
HOLD, HOLDS = 2.2, 8  # seconds, and how often a person tries
SOON = 4  # seconds for what a hold does to appear
BEFORE_REPEATS, BETWEEN_REPEATS = 0.5, 0.033  # as keyboards are set by default


class Never(Exception):
    """What was waited for did not appear."""


class Terminal:
    def __init__(self, kitty, command, rows=45, columns=100):
        self.kitty, self.seen, self.status = kitty, "", None
        # Our own copy of the far end stays open, so that it can be asked how it was left.
        self.fd, self.far = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.far)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            os.login_tty(self.far)
            os.execv(command[0], command)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def runs(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is None

    def look(self, seconds):
        """Takes in what is written for so long; answers what a terminal is asked. False once the program has ended."""
        until = time.monotonic() + seconds
        while True:
            left = max(0, until - time.monotonic())
            runs = self.runs()
            if select.select([self.fd], [], [], min(left, 0.05) if runs else 0)[0]:
                new = os.read(self.fd, 65536)
                self.seen += new.decode("utf-8", "replace")
                # "Which keyboard flags are on?" and "what are you?"; a plain terminal knows only the second question.
                if self.kitty and b"\x1b[?u" in new:
                    os.write(self.fd, b"\x1b[?0u")
                if b"\x1b[c" in new:
                    os.write(self.fd, b"\x1b[?62c")
            elif not runs:
                return False
            if left <= 0:
                return True

    def wait(self, pattern, since=0, longest=LONGEST):
        until = time.monotonic() + longest
        runs = True
        while True:
            if found := list(re.finditer(pattern, self.seen[since:])):
                return found[-1]
            # Only now: what a program writes last and its end may come in one look.
            if time.monotonic() > until or not runs:
                raise Never(f"never saw {pattern!r} behind:\n{self.seen[-2500:]}")
            runs = self.look(0.05)

    def type(self, text):
        os.write(self.fd, text.encode())

    def press(self, key, seconds):
        if self.kitty:
            os.write(self.fd, b"\x1b[%d;1:1u" % ord(key))
            self.repeat(b"\x1b[%d;1:2u" % ord(key), seconds)
            os.write(self.fd, b"\x1b[%d;1:3u" % ord(key))
        else:
            os.write(self.fd, key.encode())
            if seconds > BEFORE_REPEATS:
                self.repeat(key.encode(), seconds)

    def hold_until(self, key, pattern, since=0):
        """Holds a key until this appears. A hold ends where a busy machine brings its repeats late, and then a person holds
        again."""
        for _ in range(HOLDS - 1):
            self.press(key, HOLD)
            try:
                return self.wait(pattern, since, SOON)
            except Never:
                pass
        self.press(key, HOLD)
        return self.wait(pattern, since)

    def repeat(self, bytes, seconds):
        self.look(min(seconds, BEFORE_REPEATS))
        until = time.monotonic() + seconds - BEFORE_REPEATS
        while time.monotonic() < until:
            os.write(self.fd, bytes)
            self.look(BETWEEN_REPEATS)

    def close(self):
        """Is gone, as a window that is closed; the program's exit status."""
        os.close(self.fd)
        until = time.monotonic() + LONGEST
        while self.runs():
            if time.monotonic() > until:
                raise Never(f"the program outlives its terminal:\n{self.seen[-2500:]}")
            time.sleep(0.05)
        return self.status

    def end(self):
        """Waits for the program's end: its exit status, and whether the terminal is as it was."""
        until = time.monotonic() + LONGEST
        while self.look(0.05):
            if time.monotonic() > until:
                raise Never(f"the program does not end:\n{self.seen[-2500:]}")
        return self.status, termios.tcgetattr(self.far) == self.before
