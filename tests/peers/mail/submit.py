"""Submits one mail: PORT CA_FILE USER PASSWORD RECIPIENT [MAIL]. The recipient's form is the server's business alone."""

import smtplib
import ssl
import sys

port, authority, user, password, recipient, *mail = sys.argv[1:]
with smtplib.SMTP("127.0.0.1", int(port), timeout=30) as server:
    server.starttls(context=ssl.create_default_context(cafile=authority))
    server.login(user, password)
    server.docmd("MAIL", "FROM:<hub@hub.test>")
    code, words = server.docmd("RCPT", f"TO:<{recipient}>")
    if code // 100 != 2:
        sys.exit(f"{code} {words.decode()}")
    server.data(mail[0].encode() if mail else "Subject: a route\r\n\r\nHello\r\n")
