"""Takes what the hub's requests need out of the specification of its HTTP API that Discord publishes.

    python discord-extract.py openapi.json >discord-message.json

The specification is https://github.com/discord/discord-api-spec (`specs/`), under the MIT licence. What is left is the
schemas of the requests that the hub makes and all that they refer to, a line for each.
"""

import json
import pathlib
import sys

ROOTS = [
    "MessageCreateRequest",
    "MessageEditRequestPartial",
    "CreateTextThreadWithMessageRequest",
    "CreateTextThreadWithoutMessageRequest",
    "CreateForumThreadRequest",
    "CreatePrivateChannelRequest",
    "BanUserFromGuildRequest",
    "ModalInteractionCallbackRequest",
    "CreateMessageInteractionCallbackRequest",
]


def references(value):
    """The names of the schemas that `value` refers to."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix("#/components/schemas/")
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def main():
    specification = json.loads(pathlib.Path(sys.argv[1]).read_text())
    schemas = specification["components"]["schemas"]
    wanted, reached = list(ROOTS), set()
    while wanted:
        name = wanted.pop()
        if name not in reached:
            reached.add(name)
            wanted.extend(references(schemas[name]))
    about = (
        f"{', '.join(ROOTS)} and what they refer to, from Discord's HTTP API specification, version {specification['info']['version']}: "
        "https://github.com/discord/discord-api-spec, licence "
        f"{specification['info']['license']['identifier']}, copyright Discord. Made by discord-extract.py."
    )
    lines = [f"{json.dumps(name)}: {json.dumps(schemas[name], separators=(',', ':'))}" for name in sorted(reached)]
    print(f'{{"$comment": {json.dumps(about)},\n"components": {{"schemas": {{\n' + ",\n".join(lines) + "\n}}}")


if __name__ == "__main__":
    main()
