"""Plays what Slack's apps need of the Web API to hear people, and Socket Mode: `python slack.py PORT TOKEN`.

The rules are those of https://docs.slack.dev, the page beside each. TOKEN is the bot's; the app-level token is `APP`. What there is:

    C0KITCHEN  a channel            G0PRIVATE  a private one that the bot may not read
    D...       the conversation with the person U... of the same digits

A minute of Slack's lasts a second here, unless the test orders another length: what is told again after five minutes comes after
five seconds.
"""

import itertools
import json
import sys
import threading
import time

from stage import Answer, Refused, serve

APP = "xapp-1-A0HUB0001-1-a-token_of_the_test"
ME, BOT, TEAM = "U0HUB0001", "B0HUB0001", "T0HOUSE01"

# apis/events-api/using-socket-mode#acknowledge; apis/events-api/#retries: at once, after a minute, after five
TO_ACKNOWLEDGE, MINUTE = 3.0, 1.0
RETRIES = (0, 0, 1, 5)
# apis/events-api/using-socket-mode#using-multiple-connections
MOST_CONNECTIONS = 10
PAGE = 100


def no(word, **more):
    raise Refused(Answer(200, {"ok": False, "error": word, **more}))


class Connection:
    """One WebSocket, open as far as Slack knows."""

    def __init__(self, socket):
        self.socket, self.retiring, self.deaf = socket, False, False
        self.over = threading.Event()

    def say(self, what):
        """Whether it left."""
        if self.over.is_set():
            return False
        try:
            # What is said to a half-open connection leaves, and arrives nowhere.
            if not self.deaf:
                self.socket.send(what if isinstance(what, str) else json.dumps(what))
            return True
        except (OSError, ValueError):
            self.over.set()
            return False


class Slack:
    """What is there."""

    def __init__(self, port, token):
        self.port, self.token, self.minute = port, token, MINUTE
        self.lock = threading.RLock()
        self.numbers, self.turns = itertools.count(1), itertools.count()
        self.tickets, self.connections, self.waiting = set(), [], {}
        # Which envelopes were sent and acknowledged, as `[envelope, connection]`, and what else was said.
        self.sent, self.acked, self.faults = [], [], []
        self.opened, self.lost = 0, 0
        self.messages, self.last, self.deliveries = {}, 0, 0
        # The bot's, each of which the platform knows once.
        self.reactions = set()

    # The Web API.

    def __call__(self, request):
        if request.path[0] == "files":
            return self.file(request)
        method, told = request.path[-1], request.body if isinstance(request.body, dict) else request.fields
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        # slack_sdk writes it into the form as well
        if bearer not in (self.token, APP):
            no("invalid_auth")
        if (method == "apps.connections.open") != (bearer == APP):
            no("not_allowed_token_type")
        answers = {
            "auth.test": lambda _: {"user_id": ME, "bot_id": BOT, "team_id": TEAM, "user": "hub", "team": "Home"},
            "apps.connections.open": self.open,
            "users.info": self.person,
            "conversations.info": self.conversation,
            "conversations.open": lambda told: {"channel": {"id": "D" + told["users"][1:]}},
            "conversations.history": self.history,
            "conversations.replies": self.history,
            "chat.postMessage": self.post,
            "chat.update": self.update,
            "reactions.add": lambda told: self.react(told, True),
            "reactions.remove": lambda told: self.react(told, False),
        }
        if method not in answers:
            no("unknown_method")
        return Answer(200, {"ok": True, **answers[method](told)})

    def open(self, _):
        """reference/methods/apps.connections.open: an address that opens one connection."""
        with self.lock:
            ticket = f"ticket-{next(self.numbers)}"
            self.tickets.add(ticket)
        return {"url": f"ws://127.0.0.1:{self.port}/link/?ticket={ticket}&app_id=A0HUB0001"}

    def person(self, told):
        """reference/methods/users.info."""
        user = told["user"]
        return {"user": {"id": user, "name": user.lower(), "profile": {"display_name": f"Ann {user[-1]}", "real_name": "Ann"}}}

    def conversation(self, told):
        """reference/methods/conversations.info."""
        channel = told["channel"]
        if channel.startswith("D"):
            return {"channel": {"id": channel, "is_im": True, "user": "U" + channel[1:]}}
        return {"channel": {"id": channel, "name": channel[2:].lower(), "is_im": False}}

    def history(self, told):
        """reference/methods/conversations.history and .replies: what is later than `oldest`, the newest first, in pages; a thread's
        the oldest first, and its first message always."""
        channel, thread = told["channel"], told.get("ts")
        if channel == "G0PRIVATE":
            no("not_in_channel")
        with self.lock:
            all_of_it = sorted(self.messages.get(channel, {}).values(), key=lambda one: one["ts"])
        oldest = told.get("oldest", "0")
        root = [one for one in all_of_it if one["ts"] == thread]
        later = [one for one in all_of_it if one["ts"] > oldest and one.get("thread_ts", one["ts"]) == (thread or one["ts"])]
        later = root + [one for one in later if one not in root] if thread else later[::-1]
        at, limit = int(told.get("cursor") or 0), int(told.get("limit") or PAGE)
        rest = str(at + limit) if at + limit < len(later) else ""
        page = [dict(one) for one in later[at : at + limit]]
        if told.get("include_all_metadata") != "true":
            page = [{name: value for name, value in one.items() if name != "metadata"} for one in page]
        return {"messages": page, "has_more": bool(rest), "response_metadata": {"next_cursor": rest}}

    def post(self, told):
        """reference/methods/chat.postMessage."""
        channel = told["channel"]
        channel = "D" + channel[1:] if channel.startswith("U") else channel
        message = {"type": "message", "user": ME, "bot_id": BOT, "text": told.get("text", ""), "ts": self.now()}
        message |= {name: told[name] for name in ("thread_ts", "metadata") if name in told}
        with self.lock:
            self.messages.setdefault(channel, {})[message["ts"]] = message
        # The bot hears itself, too.
        self.tell({"channel": channel, "event_ts": message["ts"], **message})
        return {"channel": channel, "ts": message["ts"], "message": message}

    def update(self, told):
        """reference/methods/chat.update: the bot's own messages alone."""
        channel, ts = told["channel"], told["ts"]
        with self.lock:
            before = self.messages.get(channel, {}).get(ts)
            if before is None:
                no("message_not_found")
            if before["user"] != ME:
                no("cant_update_message")
            message = self.changed(channel, before, told.get("text", ""), self.now())
            self.messages[channel][ts] = message
        return {"channel": channel, "ts": ts, "text": message["text"], "message": message}

    def react(self, told, adds):
        """reference/methods/reactions.add and .remove."""
        channel, ts, name = told["channel"], told["timestamp"], told["name"]
        with self.lock:
            if ts not in self.messages.get(channel, {}):
                no("message_not_found")
            if adds == ((channel, ts, name) in self.reactions):
                no("already_reacted" if adds else "no_reaction")
            (self.reactions.add if adds else self.reactions.discard)((channel, ts, name))
        self.tell({"type": "reaction_added" if adds else "reaction_removed", "user": ME, "reaction": name, "event_ts": self.now(),
                   "item": {"type": "message", "channel": channel, "ts": ts}})
        return {}

    def changed(self, channel, before, text, at):
        """Tells that a message was changed, and what it is now; reference/events/message/message_changed."""
        message = before | {"text": text, "edited": {"user": before["user"], "ts": at}}
        kind = "im" if channel.startswith("D") else "channel"
        self.tell({"type": "message", "subtype": "message_changed", "hidden": True, "channel": channel, "channel_type": kind,
                   "ts": at, "event_ts": at,
                   "message": message, "previous_message": before})
        return message

    def now(self):
        with self.lock:
            self.last = max(int(time.time() * 1_000_000), self.last + 1)
            return f"{self.last // 1_000_000}.{self.last % 1_000_000:06}"

    def file(self, request):
        """reference/objects/file-object, `url_private`: whoever has no token, or not the scope, is shown a page."""
        if request.headers.get("authorization") != f"Bearer {self.token}" or request.path[-1] == "secret":
            return Answer(200, "<!DOCTYPE html><html>Sign in</html>", {"Content-Type": "text/html"})
        return Answer(200, f"The file {request.path[-1]}")

    # Socket Mode.

    def upgraded(self, socket, path):
        """apis/events-api/using-socket-mode: one connection, from hello to its end."""
        ticket = path.partition("ticket=")[2].partition("&")[0]
        with self.lock:
            if ticket not in self.tickets:
                return socket.close(1008, "no ticket")
            self.tickets.discard(ticket)
            connection = Connection(socket)
            self.connections.append(connection)
            self.opened += 1
            count = len(self.connections)
        if count > MOST_CONNECTIONS:
            connection.say({"type": "disconnect", "reason": "too_many_websockets"})
            self.connections.remove(connection)
            return None
        connection.say({"type": "hello", "num_connections": count, "connection_info": {"app_id": "A0HUB0001"},
                        "debug_info": {"host": "double", "approximate_connection_time": 3600}})
        try:
            while (text := socket.receive()) is not None:
                if not connection.deaf:
                    self.acknowledged(connection, text)
        except (OSError, ValueError):
            pass
        connection.over.set()
        with self.lock:
            self.connections.remove(connection)
        return None

    def acknowledged(self, connection, text):
        """#acknowledge: the id, and a payload only where one is accepted."""
        said = json.loads(text)
        with self.lock:
            known = self.waiting.get(said.get("envelope_id"))
            if known is None or not set(said) <= {"envelope_id", "payload"}:
                self.faults.append(text)
            else:
                self.acked.append(said["envelope_id"])
                known.set()

    def attempt(self, envelope, number):
        """Sends it over one connection; what says that it is acknowledged, and the connection, if there is one."""
        if number:
            again = {"envelope_id": f"{envelope['envelope_id']}-{number}", "retry_attempt": number, "retry_reason": "timeout"}
            envelope = envelope | again
        done = threading.Event()
        with self.lock:
            open_ones = [connection for connection in self.connections if not connection.over.is_set()]
            fresh = [connection for connection in open_ones if not connection.retiring] or open_ones
            # #using-multiple-connections: "each payload may be sent to any of the connections"
            connection = fresh[next(self.turns) % len(fresh)] if fresh else None
            self.waiting[envelope["envelope_id"]] = done
            if connection is None or not connection.say(envelope):
                return None
            self.sent.append(envelope["envelope_id"])
        return done, connection

    def deliver(self, envelope, first):
        """Tells it again until it is acknowledged or was told four times; apis/events-api/#retries."""
        for number, pause in enumerate(RETRIES):
            time.sleep(pause * self.minute)
            told = self.attempt(envelope, number) if number else first
            if told:
                done, connection = told
                until = time.monotonic() + TO_ACKNOWLEDGE
                while time.monotonic() < until and not done.wait(0.02) and not connection.over.is_set():
                    pass
                if done.is_set():
                    break
        else:
            with self.lock:
                self.lost += 1
        with self.lock:
            self.deliveries -= 1

    def tell(self, event, kind="events_api"):
        """Tells it over Socket Mode, in the order in which things happen."""
        number = next(self.numbers)
        payload = event
        if kind == "events_api":
            payload = {"token": "hush", "team_id": TEAM, "api_app_id": "A0HUB0001", "event": event, "type": "event_callback",
                       "event_id": f"Ev{number}", "event_time": int(time.time()),
                       "authorizations": [{"team_id": TEAM, "user_id": ME, "is_bot": True}]}
        envelope = {"envelope_id": f"envelope-{number}", "payload": payload, "type": kind,
                    "accepts_response_payload": kind == "interactive"}
        with self.lock:
            self.deliveries += 1
            first = self.attempt(envelope, 0)
        threading.Thread(target=self.deliver, args=(envelope, first), daemon=True).start()
        return envelope["envelope_id"]

    # What the test orders.

    def happens(self, what):
        match what:
            case {"say": message}:
                # Somebody writes: it is in the conversation, and told, so many times.
                message = {"type": "message", "ts": self.now()} | message
                message["event_ts"] = message["ts"]
                with self.lock:
                    stored = {name: value for name, value in message.items() if name not in ("channel", "event_ts", "channel_type")}
                    self.messages.setdefault(message["channel"], {})[message["ts"]] = stored
                for _ in range(what.get("times", 1)):
                    self.tell(message)
                return {"ts": message["ts"]}
            case {"edit": text, "channel": channel, "ts": ts}:
                # Somebody changes what they wrote. That is told, and who asks for the conversation finds the new words alone.
                with self.lock:
                    before = self.messages[channel][ts]
                    if before["text"] != text:
                        self.messages[channel][ts] = self.changed(channel, before, text, self.now())
                return {}
            case {"through": port, "minute": minute}:
                self.port, self.minute = port, minute
                return {}
            case {"tell": event}:
                return {"envelope": self.tell(event, what.get("type", "events_api"))}
            case {"raw": text}:
                with self.lock:
                    return {"left": any([connection.say(text) for connection in self.connections[-1:]])}
            case {"disconnect": reason}:
                # #disconnect: a warning, and the end a while later; what is new goes over another connection, if there is one.
                with self.lock:
                    ending = [connection for connection in self.connections if not connection.retiring]
                    for connection in ending:
                        connection.retiring = True
                        connection.say({"type": "disconnect", "reason": reason, "debug_info": {"host": "double"}})
                threading.Timer(what.get("after", 2.0), lambda: [one.socket.close(1000, "bye") for one in ending]).start()
                return {}
            case {"close": code}:
                with self.lock:
                    for connection in list(self.connections):
                        connection.socket.close(code, "Said so.")
                return {}
            case "deaf":
                with self.lock:
                    for connection in self.connections:
                        connection.deaf = connection.socket.mute = True
                return {}
            case "state":
                with self.lock:
                    return {"connections": len(self.connections), "opened": self.opened, "deliveries": self.deliveries,
                            "acked": list(self.acked), "sent": list(self.sent), "lost": self.lost, "faults": list(self.faults)}
            case {"posted": channel}:
                with self.lock:
                    posted = self.messages.get(channel, {}).values()
                    return [[one["ts"], one["text"]] for one in posted if one["user"] == ME]
        raise ValueError(f"{what} does not happen")


if __name__ == "__main__":
    serve(int(sys.argv[1]), Slack(int(sys.argv[1]), sys.argv[2]))
