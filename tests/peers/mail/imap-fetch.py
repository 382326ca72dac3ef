"""Prints every message of a mailbox's INBOX, oldest first, as a JSON array of strings.

usage: imap-fetch.py PORT CA_FILE USER   (the password on standard input)
"""

import imaplib
import json
import ssl
import sys

port, ca_file, user = sys.argv[1:]
password = sys.stdin.readline().rstrip("\n")

imap = imaplib.IMAP4_SSL("127.0.0.1", int(port), ssl_context=ssl.create_default_context(cafile=ca_file), timeout=10)
imap.login(user, password)
imap.select("INBOX", readonly=True)
_, (numbers,) = imap.search(None, "ALL")
messages = []
for number in numbers.split():
    _, parts = imap.fetch(number.decode(), "(BODY.PEEK[])")
    messages.append(parts[0][1].decode("utf-8", "surrogateescape"))
imap.logout()
sys.stdout.buffer.write(json.dumps(messages).encode("ascii", "backslashreplace"))
