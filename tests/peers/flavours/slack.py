"""Puts parts that `gatepost render --channel slack` wrote through the models of Slack's own library.

    gatepost render --channel slack <message.md | python slack.py

Every part is made a section of mrkdwn, in pieces of what a section takes, and has no angle bracket that is not a link's.
Exit status 1 and a line for each part that is refused.
"""

import json
import re
import sys

from slack_sdk.models.blocks import MarkdownTextObject, SectionBlock

MOST, SECTION = 4000, 3000
LINK = re.compile(r"<(?:https?://|mailto:)[^<>|]+\|[^<>|]+>")


def refused(part):
    text = part["text"]
    if len(text.encode("utf-16-le")) // 2 > MOST:
        yield "it is too long"
    rest = LINK.sub("", text)
    rest = re.sub(r"(?m)^(\s*(?:• |\d+\. )*> ?)+", "", rest)
    if re.search(r"[<>]", rest) or re.search(r"&(?!amp;|lt;|gt;)", rest):
        yield f"a bare sign is left in {rest!r}"
    for at in range(0, len(text), SECTION):
        SectionBlock(text=MarkdownTextObject(text=text[at : at + SECTION])).validate_json()


def main():
    count = failed = 0
    for line in sys.stdin:
        part = json.loads(line)
        count += 1
        try:
            found = list(refused(part))
        except Exception as error:
            found = [str(error)]
        for why in found:
            failed += 1
            print(f"part {part['index']}: {why}", file=sys.stderr)
    print(f"{count} parts, {failed} refused")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
