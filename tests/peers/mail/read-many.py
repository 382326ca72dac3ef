"""Tells what is in a mailbox's INBOX, as often as it is asked, over one connection: PORT CA_FILE USER PASSWORD.

Each line of the standard input is answered by a line: all mails so far as JSON, [Message-ID, text] each, in the order in which
Postfix took them: it hands them on in any. The text is that of the part that is plain text.
"""

import email
import email.policy
import imaplib
import json
import re
import ssl
import sys

port, authority, user, password = sys.argv[1:]
imap = imaplib.IMAP4_SSL("127.0.0.1", int(port), ssl_context=ssl.create_default_context(cafile=authority), timeout=30)
imap.login(user, password)
imap.select("INBOX", readonly=True)
mails, last = [], 0


def taken(mail):
    """Postfix's id of it, which grows with the time: postconf(5), enable_long_queue_ids."""
    received = next(line for line in map(str, mail.get_all("received")) if "(Postfix)" in line)
    return re.search(r"\bid (\w+)", received)[1]


for _ in sys.stdin:
    imap.noop()
    _, (found,) = imap.uid("SEARCH", f"UID {last + 1}:*")
    # `*` is the highest there is, which may be lower (RFC 3501, 6.4.8).
    for uid in sorted(int(uid) for uid in found.split() if int(uid) > last):
        _, parts = imap.uid("FETCH", str(uid), "(BODY.PEEK[])")
        mail = email.message_from_bytes(parts[0][1], policy=email.policy.default)
        text = mail.get_body(("plain",))
        mails.append([taken(mail), str(mail["message-id"]), text.get_content().strip() if text else ""])
        last = uid
    print(json.dumps([mail[1:] for mail in sorted(mails)]), flush=True)
