"""Submits mails one after the other over one connection: PORT CA_FILE USER PASSWORD.

Each line of the standard input is a mail as JSON, [sender, recipient, mail]; each is answered by a line, `ok` or what the server said.
"""

import json
import smtplib
import ssl
import sys

port, authority, user, password = sys.argv[1:]
with smtplib.SMTP("127.0.0.1", int(port), timeout=30) as server:
    server.starttls(context=ssl.create_default_context(cafile=authority))
    server.login(user, password)
    for line in sys.stdin:
        sender, recipient, mail = json.loads(line)
        try:
            server.sendmail(sender, [recipient], mail.encode())
            print("ok", flush=True)
        except smtplib.SMTPException as error:
            print(repr(error), flush=True)
