"""Has Google's own library read the messages that parts for Google Chat become.

    gatepost render --channel googlechat --json <message.md | python googlechat.py

The library takes a message's JSON as the service defines it, refusing fields that it does not know and values of another
type; what it read, written again, has to be the part's text. It counts nothing: the 32,000 bytes of a message
(spaces.messages) are counted here. How it ends: see `parts.py`.
"""

import json
import re

from google.apps import chat_v1

from parts import judge

MOST_BYTES = 32_000
# What Google Chat obeys outside code: `<users/…>` calls somebody, `<address|label>` is a link.
OBEYED = re.compile(r"<(?:users/[^<>\s]*|[A-Za-z][^<>|\s]*\|[^<>]*)>")
# A label that ends in white space was ended by a sign inside it.
LINK = re.compile(r"(?i)<(?:https?://|mailto:)[^<>|\s]+\|[^<>]*[^<>\s]>")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def reasons(part):
    text = part["text"]
    try:
        message = chat_v1.Message.from_json(json.dumps({"text": text}), ignore_unknown_fields=False)
    except Exception as error:
        yield f"no message: {error}"
        return
    if json.loads(chat_v1.Message.to_json(message))["text"] != text:
        yield f"Google reads {message.text!r}, not {text!r}"
    if not text.strip():
        yield "an empty message"
    size = len(text.encode())
    if size > MOST_BYTES:
        yield f"{size} bytes are too long for a message"
    if size != part["units"]:
        yield f"it has {size} bytes, not {part['units']}"
    for found in OBEYED.finditer(CODE.sub("", text)):
        if not LINK.fullmatch(found[0]):
            yield f"{found[0]!r} is obeyed in {text!r}"


if __name__ == "__main__":
    judge(reasons)
