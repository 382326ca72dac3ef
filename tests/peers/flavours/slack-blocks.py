"""Puts the blocks of messages for Slack through the models of Slack's own library, which know Block Kit's limits.

Each line is `{"index": N, "blocks": [...]}`. How it ends: see `parts.py`.
"""

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from parts import judge

# https://docs.slack.dev/reference/block-kit/blocks
MOST = 50


def strings(value):
    """Every text in a block, however deep."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


def reasons(message):
    blocks = message["blocks"]
    if not 1 <= len(blocks) <= MOST:
        yield f"{len(blocks)} blocks"
    for n, block in enumerate(blocks):
        try:
            parsed = Block.parse(block)
            if parsed is None or parsed.type != block["type"]:
                yield f"block {n} is of no known type"
                continue
            parsed.validate_json()
            for element in getattr(parsed, "elements", None) or []:
                if hasattr(element, "validate_json"):
                    element.validate_json()
        except (SlackObjectFormationError, TypeError, KeyError) as error:
            yield f"block {n}: {error}"
    if any("<!" in text for text in strings(blocks)):
        yield "it calls people"


if __name__ == "__main__":
    judge(reasons)
