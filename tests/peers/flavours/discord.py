"""Holds the requests that parts for Discord become against Discord's own description of them.

    gatepost render --channel discord --json <message.md | python discord.py

The schema, `discord-message.json`, is what `discord-extract.py` leaves of the specification that Discord publishes. It
lets unknown fields and 4,000 characters through, so both are looked at here: an account without a subscription sends
2,000 (Create Message, `content`). Nor does it say which text calls somebody. How it ends: see `parts.py`.
"""

import json
import pathlib
import re

from jsonschema import Draft202012Validator

from parts import judge, units

MOST = 2000
SCHEMAS = json.loads(pathlib.Path(__file__).with_name("discord-message.json").read_text())["components"]["schemas"]
REQUEST = Draft202012Validator(
    {"$ref": "#/components/schemas/MessageCreateRequest", "components": {"schemas": SCHEMAS}}
)
# What Discord obeys outside code: everyone, a user, a role, a channel, a command.
MENTION = re.compile(r"@(?:everyone|here)\b|<(?:@[!&]?|#)\d+>|</[^<>:]+:\d+>")
CODE = re.compile(r"(?m)^[ >]*(`{3,})[^`\n]*\n(?:.*\n)*?[ >]*\1$|(?<![`\\])(`+)(?!`).*?(?<!`)\2(?!`)")


def reasons(part):
    text = part["text"]
    request = {"content": text, "allowed_mentions": {"parse": []}}
    for error in REQUEST.iter_errors(request):
        yield f"no request: {error.message} at {error.json_path}"
    for field in request.keys() - SCHEMAS["MessageCreateRequest"]["properties"].keys():
        yield f"Discord knows no {field}"
    if not isinstance(text, str):
        return
    if units(text) > MOST:
        yield f"{units(text)} units are too long for a message"
    if units(text) != part["units"]:
        yield f"it has {units(text)} units, not {part['units']}"
    if not text.strip():
        yield "an empty message"
    for found in MENTION.finditer(CODE.sub("", text)):
        yield f"{found[0]!r} calls somebody in {text!r}"


if __name__ == "__main__":
    Draft202012Validator.check_schema(REQUEST.schema)
    judge(reasons)
