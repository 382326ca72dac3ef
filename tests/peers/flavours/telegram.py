"""Reads parts for Telegram with the parser of Telegram's own library.

    gatepost render --channel telegram --json <message.md | python telegram.py

For every part, what TDLib leaves of the HTML has to be the part's text, unit for unit, and the entities that TDLib finds
have to be those of the tags, as Python's own parser finds them, links with the address that they lead to. How it ends:
see `parts.py`.
"""

import json
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit, urlunsplit

import tdjson

from parts import judge, units

KINDS = {
    "b": "Bold",
    "i": "Italic",
    "s": "Strikethrough",
    "tg-spoiler": "Spoiler",
    "code": "Code",
    "pre": "Pre",
    "blockquote": "BlockQuote",
}
MOST_UNITS, MOST_ENTITIES = 4096, 100


def leads_to(address):
    """A link's kind: TDLib writes an address its own way, but where it leads is the same."""
    try:
        at = urlsplit(address)
    except ValueError:
        return f"TextUrl to {address}"
    return f"TextUrl to {unquote(urlunsplit((at.scheme, at.netloc.lower(), at.path or '/', at.query, at.fragment)))}"


class Tags(HTMLParser):
    """The text and the entities (start, end, kind) of a part."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.text, self.open, self.entities = "", [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        kind = leads_to(dict(attrs)["href"]) if tag == "a" else KINDS[tag]
        self.open.append((tag, units(self.text), kind))

    def handle_endtag(self, tag):
        opened, start, kind = self.open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}>"
        inner_code = tag == "code" and self.open and self.open[-1][0] == "pre"
        if start < units(self.text) and not inner_code:
            self.entities.append((start, units(self.text), kind))

    def handle_data(self, data):
        self.text += data


def parsed(html):
    request = {"@type": "parseTextEntities", "text": html, "parse_mode": {"@type": "textParseModeHTML"}}
    return json.loads(tdjson.td_execute(json.dumps(request).encode()))


def covered(entities):
    """For each kind, the units that have it: TDLib cuts and joins entities as it likes."""
    kinds = {}
    for start, end, kind in entities:
        kinds.setdefault(kind, set()).update(range(start, end))
    return kinds


def trimmed(kinds, text):
    """White space at the edge of a style is nobody's."""
    wide = text.encode("utf-16-le")
    is_space = lambda at: wide[2 * at : 2 * at + 2].decode("utf-16-le", "replace").isspace()
    kept = {kind: {at for at in ats if not is_space(at)} for kind, ats in kinds.items()}
    return {kind: ats for kind, ats in kept.items() if ats}


def differences(part):
    answer = parsed(part["html"])
    if answer["@type"] == "error":
        yield f"TDLib does not read it: {answer['message']}"
        return
    ours = Tags(part["html"])
    if answer["text"] != part["text"] or ours.text != part["text"]:
        yield f"TDLib reads {answer['text']!r}, not {part['text']!r}"
    if units(part["text"]) != part["units"] or part["units"] > MOST_UNITS:
        yield f"{part['units']} units"
    if len(answer["entities"]) > MOST_ENTITIES:
        yield f"{len(answer['entities'])} entities"
    theirs = []
    for entity in answer["entities"]:
        kind = entity["type"]["@type"].removeprefix("textEntityType").replace("PreCode", "Pre")
        if kind == "TextUrl":
            kind = leads_to(entity["type"]["url"])
        if kind in KINDS.values() or kind.startswith("TextUrl"):
            theirs.append((entity["offset"], entity["offset"] + entity["length"], kind))
    if trimmed(covered(theirs), part["text"]) != trimmed(covered(ours.entities), part["text"]):
        yield f"TDLib finds {theirs}, not {ours.entities}"


if __name__ == "__main__":
    tdjson.td_execute(b'{"@type":"setLogVerbosityLevel","new_verbosity_level":0}')
    judge(differences)
