"""Discord's Gateway, version 10, and what people do with a bot's buttons and forms.

The rules are those of https://docs.discord.com/developers, the page beside each. What breaks one is closed with the code that
`topics/opcodes-and-status-codes#gateway-gateway-close-event-codes` has for it.
"""

import json
import threading
from datetime import datetime, timezone

# events/gateway#sending-events
MOST = 4096
# events/gateway#list-of-intents: messages, reactions and polls, of servers and of direct messages, and what messages say
INTENTS = 50345472 | 1 << 15
# events/gateway#list-of-intents: GUILD_MESSAGES and DIRECT_MESSAGES
MESSAGES = 1 << 9 | 1 << 12
# resources/user#user-object: who has the new kind of name has no discriminator but 0
WHOSE = {"discriminator": "0", "global_name": None, "avatar": None}
BOT = {"id": "123456", "username": "hub", "bot": True} | WHOSE
# resources/message#message-object: what every message has
MESSAGE = {"type": 0, "attachments": [], "embeds": [], "mentions": [], "mention_roles": [], "mention_everyone": False,
           "pinned": False, "tts": False, "edited_timestamp": None}
STATUSES = ("online", "dnd", "idle", "invisible", "offline")


class Gateway:
    """One bot's. Interactions are answered by `answered`, over the REST interface."""

    def __init__(self, port, token, refuse):
        self.port, self.token, self.refuse = port, token, refuse
        self.left = []
        # Who hears, and who began or resumed a session last.
        self.hearing, self.beat = [], 41250
        self.said, self.live, self.seq, self.last, self.open = [], None, 0, 7000, {}
        # What was dispatched, how many resumes are refused, and what the session hears.
        self.past, self.refusals, self.intents = [], 0, 0
        self.lock = threading.RLock()

    def where(self):
        """events/gateway#get-gateway-bot."""
        limit = {"total": 1000, "remaining": 999, "reset_after": 14_400_000, "max_concurrency": 1}
        return {"url": f"ws://127.0.0.1:{self.port}", "shards": 1, "session_start_limit": limit}

    def upgraded(self, socket, path):
        """One connection, from hello to its end."""
        # events/gateway#connecting
        if not path.endswith("?v=10&encoding=json"):
            return socket.close(4012, "Invalid API version")
        self.event(socket, 10, {"heartbeat_interval": self.beat})
        try:
            code = self.conversed(socket)
        finally:
            with self.lock:
                self.hearing = [one for one in self.hearing if one is not socket]
        if code:
            return socket.close(code, "Said so.")
        # events/gateway#initiating-a-disconnect
        with self.lock:
            self.left.append(socket.code)
        return None

    def conversed(self, socket):
        """Hears somebody out; the code by which it closes, where what is said may not be."""
        begun = False
        while (text := socket.receive()) is not None:
            code = 4002 if len(text.encode()) > MOST else self.wrong(json.loads(text), begun)
            if code:
                return code
            event = json.loads(text)
            if event["op"] == 1:
                self.event(socket, 11, None)
            elif event["op"] in (2, 6):
                if event["op"] == 6 and self.refused():
                    self.event(socket, 9, False)
                    continue
                begun = True
                # events/gateway-events#ready
                ready = {"v": 10, "user": BOT, "guilds": [], "session_id": "5e55",
                         "resume_gateway_url": f"ws://127.0.0.1:{self.port}", "application": {"id": "42", "flags": 0}}
                with self.lock:
                    self.live, self.intents = socket, event["d"].get("intents", self.intents)
                    if event["op"] == 6:
                        # events/gateway#resuming: what was missed comes in order, and then that it is over
                        self.replay([one for one in self.past if one[0] > event["d"]["seq"]])
                    self.seq += 1
                    name, data = ("READY", ready) if event["op"] == 2 else ("RESUMED", {})
                    self.replay([(self.seq, name, data)])
                    self.hearing.append(socket)
            # Last, for what is listed has been answered: a test that sees op 2 may act on the session.
            with self.lock:
                self.said.append(event)
        return None

    def event(self, socket, op, data, seq=None, name=None):
        socket.send(json.dumps({"op": op, "d": data, "s": seq, "t": name}))

    def dispatch(self, name, data):
        if name in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and isinstance(data, dict) and isinstance(data.get("author"), dict):
            data = MESSAGE | data | {"author": WHOSE | data["author"]}
        with self.lock:
            self.seq += 1
            self.past.append((self.seq, name, data))
            for socket in self.hearing:
                self.replay([(self.seq, name, data)], socket)

    def hears(self, name, message, edited=False):
        """The bot's own message, which it hears like any other."""
        if self.intents & MESSAGES:
            now = datetime.now(timezone.utc).isoformat()
            more = {"type": 0, "author": BOT, "timestamp": now, "edited_timestamp": now if edited else None}
            self.dispatch(name, message | more)

    def replay(self, events, socket=None):
        """Sends events with the numbers that they had. Who is away does not hear them."""
        for seq, name, data in events:
            try:
                self.event(socket or self.live, 0, data, seq, name)
            except (OSError, ValueError, AttributeError):
                return

    def refused(self):
        with self.lock:
            refused = self.refusals > 0
            self.refusals -= refused
            return refused

    def written(self, channel, after, limit):
        """resources/message#get-channel-messages: the newest first."""
        all_of_it = {data["id"]: data for _, name, data in self.past
                     if name == "MESSAGE_CREATE" and data.get("channel_id") == channel and str(data.get("id", "")).isdigit()}
        later = sorted((one for one in all_of_it.values() if int(one["id"]) > after), key=lambda one: int(one["id"]))
        return later[:limit][::-1]

    def told(self, channel, message):
        """Whether somebody wrote this message there."""
        made = (data for _, name, data in self.past if name == "MESSAGE_CREATE" and isinstance(data, dict))
        return any((data.get("channel_id"), data.get("id")) == (channel, message) for data in made)

    def wrong(self, event, begun):
        """The code by which it closes, where an event may not be; events/gateway-events#send-events."""
        op, data = event.get("op"), event.get("d")
        if set(event) != {"op", "d"}:
            return 4002
        if op == 1:
            return None if data is None or isinstance(data, int) else 4002
        if op in (2, 6) and begun:
            return 4005
        if op in (2, 6) and data.get("token") != self.token:
            return 4004
        if op == 2:
            known = {"token", "properties", "intents", "presence", "compress", "large_threshold"}
            if not set(data) <= known or set(data["properties"]) != {"os", "browser", "device"} or data["intents"] & ~INTENTS:
                return 4002
            return None if "presence" not in data or presence(data["presence"]) else 4002
        if op == 6:
            known = set(data) == {"token", "session_id", "seq"} and isinstance(data["session_id"], str) and isinstance(data["seq"], int)
            return None if known else 4002
        if not begun:
            return 4003
        return (None if presence(data) else 4002) if op == 3 else 4001

    def interact(self, kind, user, message, data, times=1):
        """interactions/receiving-and-responding#interaction-object."""
        with self.lock:
            self.last += 1
            one = str(self.last)
            # Whatever answers once.
            self.open[one] = {"kind": kind, "user": user, "message": message}
            event = {"id": one, "application_id": "42", "type": kind, "token": f"interaction.{one}", "version": 1,
                     "channel_id": message["channel_id"], "message": message, "data": data}
            person = {"id": user, "username": f"user{user}", "global_name": "Ann"}
            event |= {"member": {"user": person}} if message["channel_id"] != "900" else {"user": person}
            for _ in range(times):
                self.dispatch("INTERACTION_CREATE", event)
        return {"id": one}

    def answered(self, one, token, body):
        """interactions/receiving-and-responding#create-interaction-response."""
        if token != f"interaction.{one}" or one not in self.open:
            self.refuse(404, 10062, "Unknown interaction")
        about = self.open[one]
        if "answer" in about:
            self.refuse(400, 40060, "Interaction has already been acknowledged.")
        match body.get("type"):
            case 9 if about["kind"] == 3 and set(body) == {"type", "data"} and modal(body["data"]):
                pass
            case 6 if set(body) == {"type"}:
                pass
            case 4 if set(body) == {"type", "data"} and body["data"].get("flags") == 64 and body["data"].get("content"):
                pass
            case _:
                self.refuse(400, 50035, f"Invalid Form Body: {json.dumps(body)}")
        about["answer"] = body

    def press(self, message, button, user):
        return self.interact(3, user, message, {"component_type": 2, "id": 1, "custom_id": button})

    def fill(self, one, values, again):
        """components/reference#text-input-text-input-interaction-response-structure; `again` sends the same event twice."""
        opened = self.open[one]
        form = opened["answer"]["data"]
        fields = [{"type": 18, "id": 1, "component": {"type": 4, "id": 2, "custom_id": name, "value": value}}
                  for name, value in values.items()]
        data = {"custom_id": form["custom_id"], "components": fields}
        return self.interact(5, opened["user"], opened["message"], data, 2 if again else 1)


def presence(data):
    """events/gateway-events#update-presence-gateway-presence-update-structure; #activity-object-activity-structure."""
    return (
        set(data) == {"since", "activities", "status", "afk"}
        and data["status"] in STATUSES
        and isinstance(data["afk"], bool)
        and (data["since"] is None or isinstance(data["since"], int))
        and all(
            set(one) <= {"name", "state", "type", "url"} and one["name"] and len(one.get("state", "")) <= 128
            for one in data["activities"]
        )
    )


def modal(data):
    """interactions/receiving-and-responding#interaction-response-object-modal, components/reference#label and #text-input."""
    fields = data.get("components", [])
    names = [one["component"]["custom_id"] for one in fields]
    return (
        set(data) == {"custom_id", "title", "components"}
        and 1 <= len(data["custom_id"]) <= 100
        and 1 <= len(data["title"]) <= 45
        and 1 <= len(fields) <= 5
        and len(set(names)) == len(names)
        and all(set(one) == {"type", "label", "component"} and one["type"] == 18 for one in fields)
        and all(1 <= len(one["label"]) <= 45 and text_input(one["component"]) for one in fields)
    )


def text_input(one):
    """components/reference#text-input-text-input-structure."""
    known = {"type", "custom_id", "style", "required", "min_length", "max_length", "placeholder", "value"}
    return (
        set(one) <= known
        and one["type"] == 4
        and 1 <= len(one["custom_id"]) <= 100
        and one["style"] in (1, 2)
        and isinstance(one.get("required", True), bool)
        and 0 <= one.get("min_length", 0) <= 4000
        and 1 <= one.get("max_length", 1) <= 4000
        and len(one.get("placeholder", "")) <= 100
        and len(one.get("value", "")) <= 4000
    )
