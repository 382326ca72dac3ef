"""Plays Discord's REST interface, version 10, and its Gateway (`gateway.py`): `python discord.py PORT TOKEN`.

Bodies are held against the schemas that Discord publishes (`../flavours/discord-message.json`), made strict: a member that
they do not know is refused. What schemas cannot say is from https://docs.discord.com/developers, the page beside each rule;
refusals have the codes of `topics/opcodes-and-status-codes`. What there is:

    200 a text channel of the server 100, beneath the category 500      210 a thread in 200      211 a thread in 201
    201 another text channel       202 a forum       203 an announcement channel
    900 the conversation with the person 99, once either has opened it   98 a person who takes no messages
"""

import base64
import json
import pathlib
import re
import sys

from jsonschema import Draft202012Validator

from gateway import BOT, Gateway
from stage import Answer, Refused, serve, units

# interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
ANSWERS = {4: "CreateMessageInteractionCallbackRequest", 9: "ModalInteractionCallbackRequest"}
SCHEMAS = pathlib.Path(__file__).parent.parent / "flavours" / "discord-message.json"

# resources/channel#channel-object-channel-types
TEXT, DM, ANNOUNCEMENT, ANNOUNCEMENT_THREAD, THREAD, FORUM = 0, 1, 5, 10, 11, 15

# resources/message#message-object-message-flags, and which may be set: resources/message#create-message
SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, VOICE = 1 << 2, 1 << 12, 1 << 13

# resources/user#user-object, resources/guild#guild-member-object
PEOPLE = [
    {"user": {"id": "99", "username": "ann.lee", "global_name": "Ann"}, "nick": "Ann Lee"},
    {"user": {"id": "98", "username": "bob", "global_name": "Bob"}, "nick": None},
    {"user": {"id": "97", "username": "mallory", "global_name": "M"}, "nick": "Bob"},
]

CONTENT, FILES, EMBEDS, ANSWER, ROWS, REASON = 2000, 10, 6000, 55, 5, 512
# reference#uploading-files, by the server's resources/guild#guild-object-premium-tier
FILE = {0: 10 << 20, 1: 10 << 20, 2: 50 << 20, 3: 100 << 20}


def channel(kind, parent=None, **more):
    thread = {"thread_metadata": {"archived": False}} if kind in (THREAD, ANNOUNCEMENT_THREAD) else {}
    return {"type": kind, "guild_id": "100", "parent_id": parent, **thread, **more}


def refuse(status, code, words, **errors):
    body = {"message": words, "code": code}
    if errors:
        body["errors"] = {name: {"_errors": [{"code": "INVALID", "message": why}]} for name, why in errors.items()}
    raise Refused(Answer(status, body))


def form(**errors):
    refuse(400, 50035, "Invalid Form Body", **errors)


def strict(schema):
    """The same, and an object has no other members than its own."""
    if isinstance(schema, list):
        return [strict(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: strict(inner) for name, inner in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    return schema


class Discord:
    """What is there."""

    def __init__(self, port, token):
        self.token, self.last = token, 1000
        self.gateway = Gateway(port, token, refuse)
        self.upgraded = self.gateway.upgraded
        schemas = strict(json.loads(SCHEMAS.read_text())["components"]["schemas"])
        self.schemas = {
            name: Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}})
            for name in schemas
        }
        self.channels = {
            "200": channel(TEXT, "500"),
            "201": channel(TEXT, "500"),
            "202": channel(FORUM),
            "203": channel(ANNOUNCEMENT),
            "210": channel(THREAD, "200"),
            "211": channel(THREAD, "201"),
        }
        # How the server is boosted, and where the application has its interactions sent.
        self.tier, self.endpoint = 0, None
        self.messages, self.nonces, self.members, self.reactions, self.pins = {}, {}, {"99", "98"}, set(), set()

    def __call__(self, request):
        # reference#authentication, reference#user-agent: more may follow, and discord.py leaves out the comma
        if request.headers.get("authorization") != f"Bot {self.token}":
            refuse(401, 0, "401: Unauthorized")
        if not re.fullmatch(r"DiscordBot \(\S+,? [\d.]+\)( .*)?", request.headers.get("user-agent", "")):
            raise Refused(Answer(403, "<h1>error code: 1010</h1>"))
        # reference#reason-header
        reason = request.headers.get("x-audit-log-reason", "a")
        if not 1 <= len(reason) <= REASON or not re.fullmatch(r"(?:[\w.~-]|%[0-9A-F]{2})+", reason, re.ASCII):
            form(reason="Must be between 1 and 512 in length.")
        if request.path[:2] != ["api", "v10"]:
            refuse(404, 0, "404: Not Found")
        answer = self.route(request, request.method, request.path[2:])
        return answer if isinstance(answer, Answer) else Answer(200, answer)

    def happens(self, what):
        """A press on a message's button, a form filled in, the Gateway's session closed; or what was said over the Gateway
        so far, and with which codes it was left."""
        match what:
            case {"press": message, "in": one, "button": text, "by": user}:
                made = self.message(one, message)
                buttons = [button for row in made["components"] for button in row["components"]]
                (button,) = [button["custom_id"] for button in buttons if button["label"] == text]
                return self.gateway.press(made, button, user)
            case {"fill": one, "values": values}:
                return self.gateway.fill(one, values, what.get("again", False))
            case {"boost": tier}:
                self.tier = tier
                return {}
            case {"close": code}:
                self.gateway.live.close(code, "Said so.")
                return {}
            case {"tell": name, "data": data}:
                self.gateway.dispatch(name, data)
                return {}
            case {"again": count}:
                with self.gateway.lock:
                    self.gateway.replay(self.gateway.past[-count:])
                return {}
            case {"invalid": may_resume}:
                with self.gateway.lock:
                    self.gateway.event(self.gateway.live, 9, may_resume)
                return {}
            case {"refuse": count}:
                self.gateway.refusals = count
                return {}
            case {"endpoint": url}:
                self.endpoint = url
                return {}
            case {"through": port, "beat": milliseconds}:
                self.gateway.port, self.gateway.beat = port, milliseconds
                return {}
            case {"opened_by": person}:
                return self.open({"recipient_id": person})
            case {"posted": one}:
                return [[made["id"], made["content"]] for (where, _), made in self.messages.items() if where == one]
            case "said":
                return self.gateway.said
            case "left":
                return self.gateway.left
            case "hearing":
                return len(self.gateway.hearing)
        raise ValueError(what)

    def route(self, request, method, path):
        match [method, *path]:
            case ["GET", "gateway", "bot"]:
                return self.gateway.where()
            case ["POST", "interactions", one, token, "callback"]:
                if isinstance(request.body, dict) and request.body.get("type") in ANSWERS:
                    self.checked(ANSWERS[request.body["type"]], request)
                self.gateway.answered(one, token, request.body)
                return Answer(204)
            case ["GET", "users", "@me"]:
                return BOT
            case ["GET", "oauth2", "applications", "@me"]:
                # topics/oauth2#get-current-bot-application-information
                return {"id": "123456", "name": "Hub", "icon": None, "description": "", "verify_key": "00", "owner": BOT,
                        "bot_public": False, "bot_require_code_grant": False, "flags": 0}
            case ["GET", "applications", "@me"]:
                # resources/application#get-current-application
                return {"id": "123456", "interactions_endpoint_url": self.endpoint}
            case ["GET", "users", "@me", "guilds"]:
                return [{"id": "100", "name": "Home"}]
            case ["GET", "guilds", "100", "channels"]:
                return [{"id": one, **place} for one, place in self.channels.items() if "guild_id" in place]
            case ["GET", "guilds", "100", "members", "search"]:
                # resources/guild#search-guild-members: "username or nickname starts with a provided string"
                begins = request.query["query"].lower()
                names = lambda one: (one["user"]["username"], one["nick"] or "")
                found = [one for one in PEOPLE if any(name.lower().startswith(begins) for name in names(one))]
                return found[: int(request.query.get("limit", 1))]
            case ["GET", "guilds", "100"]:
                return {"id": "100", "premium_tier": self.tier}
            case ["POST", "users", "@me", "channels"]:
                return self.open(self.checked("CreatePrivateChannelRequest", request))
            case ["GET", "channels", one]:
                return {"id": one, **self.channel(one)}
            case ["GET", "channels", one, "messages"]:
                self.channel(one)
                limit = min(int(request.query.get("limit", 50)), 100)
                return self.gateway.written(one, int(request.query.get("after", 0)), limit)
            case ["POST", "channels", one, "messages"]:
                return self.create(one, request)
            case ["POST", "channels", one, "threads"]:
                return self.thread(one, request)
            case ["POST", "channels", one, "messages", message, "threads"]:
                return self.thread_at(one, message, request)
            case [method, "channels", one, "messages", "pins", message] if method in ("PUT", "DELETE"):
                self.there(one, message)
                (self.pins.add if method == "PUT" else self.pins.discard)((one, message))
                return Answer(204)
            case ["PATCH", "channels", one, "messages", message]:
                body = self.checked("MessageEditRequestPartial", request)
                self.text(body)
                made = self.message(one, message)
                # resources/message#edit-message: what is left out stays
                made["content"] = body.get("content", made["content"])
                self.gateway.hears("MESSAGE_UPDATE", made, True)
                return made
            case ["DELETE", "channels", one, "messages", message]:
                del self.messages[(one, self.message(one, message)["id"])]
                return Answer(204)
            case [method, "channels", one, "messages", message, "reactions", emoji, "@me"] if method in ("PUT", "DELETE"):
                self.there(one, message)
                # resources/message#create-reaction: itself, or name:id
                if not re.fullmatch(r"\w+:\d+", emoji, re.ASCII) and emoji.isascii():
                    refuse(400, 10014, "Unknown Emoji")
                (self.reactions.add if method == "PUT" else self.reactions.discard)((one, message, emoji))
                return Answer(204)
            case [method, "guilds", "100", "members" | "bans" as what, user]:
                return self.member(method, what, user, request)
        refuse(404, 0, "404: Not Found")

    def checked(self, schema, request):
        """The body, as its schema has it."""
        body = request.body
        if request.kind == "multipart/form-data":
            # reference#uploading-files
            if set(request.fields) != {"payload_json"}:
                form(form=f"has {sorted(request.fields)}")
            body = json.loads(request.fields["payload_json"])
        for error in self.schemas[schema].iter_errors(body):
            form(**{error.json_path: error.message})
        return body

    def channel(self, one):
        if one not in self.channels:
            refuse(404, 10003, "Unknown Channel")
        return self.channels[one]

    def message(self, one, message):
        self.channel(one)
        if (one, message) not in self.messages:
            refuse(404, 10008, "Unknown Message")
        return self.messages[(one, message)]

    def there(self, one, message):
        """The same, whoever wrote it."""
        if not self.gateway.told(one, message):
            self.message(one, message)

    def open(self, body):
        # resources/user#create-dm
        if body.get("recipient_id") not in ("99", "98"):
            refuse(404, 10013, "Unknown User")
        one = {"99": "900", "98": "901"}[body["recipient_id"]]
        self.channels[one] = {"type": DM, "recipients": [{"id": body["recipient_id"], "username": "ann"}]}
        return {"id": one, **self.channels[one]}

    def create(self, one, request):
        kind = self.channel(one)["type"]
        if kind == FORUM:
            refuse(400, 50008, "Cannot send messages in a non-text channel")
        if one == "901":
            refuse(403, 50007, "Cannot send messages to this user")
        body = self.checked("MessageCreateRequest", request)
        self.content(body, request.files, FILE[self.tier if kind != DM else 0])
        # resources/message#create-message: "that message will be returned and no new message will be created"
        nonce = body.get("nonce") if body.get("enforce_nonce") else None
        if nonce is not None and nonce in self.nonces:
            return self.nonces[nonce]
        made = {"id": self.number(), "channel_id": one, "content": body.get("content", "")}
        made["components"] = body.get("components") or []
        self.messages[(one, made["id"])] = made
        if nonce is not None:
            self.nonces[nonce] = made
        self.gateway.hears("MESSAGE_CREATE", made)
        return made

    def number(self):
        self.last += 1
        return str(self.last)

    def text(self, body):
        if len(body.get("content") or "") > CONTENT or units(body.get("content") or "") > CONTENT:
            form(content="Must be 2000 or fewer in length.")
        # Not Discord's rule but the house's: nobody is called by accident.
        if body.get("allowed_mentions", {}).get("parse") != []:
            form(allowed_mentions="This double takes no message that calls somebody.")
        # resources/message#allowed-mentions-object; whom it allows and does not name, it allows for nothing.
        users = body["allowed_mentions"].get("users", [])
        if len(users) > 100 or any(f"<@{user}>" not in (body.get("content") or "") for user in users):
            form(allowed_mentions="Whom it calls is not in it.")

    def content(self, body, files, largest=FILE[0]):
        """resources/message#create-message and what it refers to."""
        self.text(body)
        flags = body.get("flags") or 0
        if flags & ~(SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | VOICE):
            form(flags="Only some flags may be set.")
        about = body.get("attachments", [])
        if len(files) > FILES or {f"files[{one['id']}]" for one in about} != set(files):
            form(attachments="They are not the files.")
        for file in files.values():
            if len(file.data) > largest:
                refuse(413, 40005, "Request entity too large")
        if flags & VOICE:
            self.voice(body, about, files)
        elif any("waveform" in one or "duration_secs" in one for one in about):
            form(attachments="Only a voice message has these.")
        elif not (body.get("content", "").strip() or any(body.get(what) for what in ("embeds", "components", "poll")) or files):
            refuse(400, 50006, "Cannot send an empty message")
        self.components(body.get("components") or [])
        self.embeds(body.get("embeds") or [])
        # resources/poll#poll-media-object
        for answer in (body.get("poll") or {}).get("answers", []):
            if not 1 <= len(answer["poll_media"].get("text", "")) <= ANSWER:
                form(poll="An answer has 1 to 55 characters.")

    def voice(self, body, about, files):
        """resources/message#voice-messages."""
        if body.get("content") or body.get("embeds") or len(about) != 1:
            refuse(400, 50160, "Voice messages do not support additional content.")
        (file,) = files.values()
        points = base64.b64decode(about[0].get("waveform") or "", validate=True)
        if not file.kind.startswith("audio/") or not about[0].get("duration_secs") or not 1 <= len(points) <= 256:
            refuse(400, 50161, "Voice messages must have a single audio attachment.")

    def components(self, rows):
        """components/reference: 5 rows; 5 buttons in one, or a list by itself; each custom_id once."""
        if len(rows) > ROWS:
            form(components="Must be 5 or fewer in length.")
        ids = []
        for row in rows:
            kinds = [one["type"] for one in row["components"]]
            if 3 in kinds and len(kinds) > 1:
                form(components="A list has a row for itself.")
            for one in row["components"]:
                is_link = one.get("style") == 5
                if one["type"] == 2 and (is_link != ("url" in one) or is_link == ("custom_id" in one)):
                    form(components="A button has a url or a custom_id, as its style says.")
                ids += [one["custom_id"]] if "custom_id" in one else []
        if len(set(ids)) != len(ids):
            form(components="Component custom id cannot be duplicated")

    def embeds(self, embeds):
        """resources/message#embed-object-embed-limits."""
        count = 0
        for embed in embeds:
            texts = [embed.get("title"), embed.get("description")]
            texts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
            if len(embed.get("fields") or []) > 25:
                form(embeds="Must be 25 or fewer in length.")
            for one in embed.get("fields") or []:
                texts += [one["name"], one["value"]]
            count += sum(len(text) for text in texts if text)
        if count > EMBEDS:
            form(embeds="Embed size exceeds maximum size of 6000")

    def thread(self, one, request):
        """resources/channel#start-thread-without-message and #start-thread-in-forum-or-media-channel."""
        kind = self.channel(one)["type"]
        if kind == FORUM:
            body = self.checked("CreateForumThreadRequest", request)
            self.content(body["message"], request.files)
            made = THREAD
        else:
            body = self.checked("CreateTextThreadWithoutMessageRequest", request)
            made = body.get("type", 12)
            if (made == ANNOUNCEMENT_THREAD) != (kind == ANNOUNCEMENT) or kind not in (TEXT, ANNOUNCEMENT):
                refuse(400, 50024, "Cannot execute action on this channel type")
        return self.made(self.number(), one, made)

    def thread_at(self, one, message, request):
        """resources/channel#start-thread-from-message: it has the message's id."""
        self.checked("CreateTextThreadWithMessageRequest", request)
        self.message(one, message)
        if message in self.channels:
            refuse(400, 160004, "A thread has already been created for this message")
        return self.made(message, one, THREAD)

    def made(self, thread, parent, kind):
        self.channels[thread] = channel(kind, parent)
        return Answer(201, {"id": thread, **self.channels[thread]})

    def member(self, method, what, user, request):
        """resources/guild#modify-guild-member, #remove-guild-member and #create-guild-ban."""
        if user not in self.members:
            refuse(404, 10007, "Unknown Member")
        if (method, what) == ("PATCH", "members"):
            until = request.body.get("communication_disabled_until", "")
            if set(request.body) != {"communication_disabled_until"} or not (
                until is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", until)
            ):
                form(communication_disabled_until="Could not parse. Should be ISO8601.")
            return {"user": {"id": user}}
        if (method, what) == ("PUT", "bans"):
            self.checked("BanUserFromGuildRequest", request)
        elif (method, what) != ("DELETE", "members"):
            refuse(405, 0, "405: Method Not Allowed")
        self.members.discard(user)
        return Answer(204)


if __name__ == "__main__":
    serve(int(sys.argv[1]), Discord(int(sys.argv[1]), sys.argv[2]))
