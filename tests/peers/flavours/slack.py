"""Puts parts for Slack through the block models of Slack's own library.

    gatepost render --channel slack --json <message.md | python slack.py

Every part fits a message, becomes sections of mrkdwn that the models take, and has no angle bracket or ampersand but
those of links and of what is escaped: anything else could call somebody. How it ends: see `parts.py`.
"""

import re

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import MarkdownTextObject, SectionBlock

from parts import judge, units

# chat.postMessage advises 4,000 characters; a section takes 3,000.
MOST, SECTION = 4000, 3000
LINK = re.compile(r"(?i)<(?:https?://|mailto:)[^<>|]+\|[^<>]+>")
# A quote's mark is bare, and stands at the start of a line, perhaps inside a list.
QUOTE = re.compile(r"(?m)^(\s*(?:• |\d+\. )*> ?)+")


def pieces(text):
    """What each section gets; what is no text is left to the models."""
    return [text[at : at + SECTION] for at in range(0, len(text), SECTION)] if isinstance(text, str) else [text]


def reasons(part):
    text = part["text"]
    for piece in pieces(text):
        try:
            SectionBlock(text=MarkdownTextObject(text=piece)).validate_json()
        except (SlackObjectFormationError, TypeError) as error:
            yield f"no section: {error}"
            return
    if not text.strip():
        yield "an empty message"
    if units(text) > MOST:
        yield f"{units(text)} units are too long for a message"
    if units(text) != part["units"]:
        yield f"it has {units(text)} units, not {part['units']}"
    rest = QUOTE.sub("", LINK.sub("", text))
    if re.search(r"[<>]", rest) or re.search(r"&(?!amp;|lt;|gt;)", rest):
        yield f"a bare sign is left in {rest!r}"


if __name__ == "__main__":
    judge(reasons)
