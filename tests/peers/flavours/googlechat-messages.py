"""Has Google's own library read the messages for Google Chat that requests carry, cards and all.

Each line is `{"index": N, "message": {...}}`. A field that the service does not know, or a value of another type, is a
reason against it; so is a message over 32,000 bytes (spaces.messages). How it ends: see `parts.py`.
"""

import json

from google.apps import chat_v1

from parts import judge

MOST_BYTES = 32_000


def reasons(line):
    text = json.dumps(line["message"], ensure_ascii=False)
    try:
        message = chat_v1.Message.from_json(text, ignore_unknown_fields=False)
    except Exception as error:
        yield f"no message: {error}"
        return
    if not message.text and not message.cards_v2:
        yield "an empty message"
    if len(text.encode()) > MOST_BYTES:
        yield f"{len(text.encode())} bytes are too long for a message"


if __name__ == "__main__":
    judge(reasons)
