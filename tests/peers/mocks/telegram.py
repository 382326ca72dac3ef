"""Plays Telegram's Bot API: `python telegram.py PORT TOKEN`.

Rules are from https://core.telegram.org/bots/api, the page of each method; markup is read by Telegram's own parser, TDLib
(PyPI tdjson), whose words its server passes on. Other refusals are in the words that the server itself uses
(https://github.com/tdlib/telegram-bot-api, telegram-bot-api/Client.cpp). The chats that there are:

    -1001000000001  a supergroup with topics      777        a person who has written to the bot
    -4711           a group that has moved        778        one who has blocked it
    @news           a channel

    POST /_mock/happen  {"from": {"id": 777, "first_name": "Ann"}, "chat": {"id": 777, "type": "private"}, "text": "Hi"}
                         somebody writes to the bot
"""

import json
import sys
import threading
import time

import tdjson

from stage import Answer, Refused, serve, units

FORUM, MOVED, NEW_HOME, PERSON, BLOCKED, NEWS = -1001000000001, -4711, -1001000004711, 777, 778, "@news"
CHATS = {FORUM, PERSON, NEWS}

# #sendmessage, #sendphoto, #inlinekeyboardbutton; how many buttons is in no page, and the server refuses more.
TEXT, CAPTION, CALLBACK, BUTTONS = 4096, 1024, 64, 100
# #sending-files
PHOTO, FILE = 10_000_000, 50_000_000

# The ones of https://core.telegram.org/bots/api#reactiontypeemoji that a test uses.
REACTIONS = {"👍", "👎", "❤", "🔥", "🎉", "👌", "🤔"}

# Parameters: `!` is needed. `form` is anything but what only a file's method has.
PLACE = {
    "chat_id": "chat!",
    "message_thread_id": "int",
    "disable_notification": "bool",
    "reply_parameters": "reply",
    "reply_markup": "keyboard",
}
MARKED = {"parse_mode": "mode"}
CAPTIONED = {**PLACE, **MARKED, "caption": "str"}
OF_MESSAGE = {"chat_id": "chat!", "message_id": "int!"}
OF_PERSON = {"chat_id": "chat!", "user_id": "int!"}
METHODS = {
    "getMe": {},
    "getUpdates": {"offset": "int", "limit": "int", "timeout": "int", "allowed_updates": "names"},
    "sendMessage": {**PLACE, **MARKED, "text": "str!", "link_preview_options": "preview"},
    "sendPhoto": {**CAPTIONED, "photo": "file!"},
    "sendDocument": {**CAPTIONED, "document": "file!"},
    "sendVideo": {**CAPTIONED, "video": "file!"},
    "sendAnimation": {**CAPTIONED, "animation": "file!"},
    "sendAudio": {**CAPTIONED, "audio": "file!"},
    "sendVoice": {**CAPTIONED, "voice": "file!"},
    # Without buttons, and the caption is an item's.
    "sendMediaGroup": {**{name: kind for name, kind in PLACE.items() if name != "reply_markup"}, "media": "media!"},
    "sendPoll": {
        **PLACE,
        "question": "str!",
        "options": "options!",
        "is_anonymous": "bool",
        "allows_multiple_answers": "bool",
        "open_period": "int",
    },
    "setMessageReaction": {**OF_MESSAGE, "reaction": "reaction"},
    "editMessageText": {**OF_MESSAGE, **MARKED, "text": "str!", "link_preview_options": "preview", "reply_markup": "keyboard"},
    "editMessageCaption": {**OF_MESSAGE, **MARKED, "caption": "str", "reply_markup": "keyboard"},
    "deleteMessage": OF_MESSAGE,
    "deleteMessages": {"chat_id": "chat!", "message_ids": "ids!"},
    "pinChatMessage": {**OF_MESSAGE, "disable_notification": "bool"},
    "unpinChatMessage": {"chat_id": "chat!", "message_id": "int"},
    "createForumTopic": {"chat_id": "chat!", "name": "str!"},
    "restrictChatMember": {**OF_PERSON, "permissions": "permissions!", "until_date": "int"},
    "banChatMember": {**OF_PERSON, "until_date": "int", "revoke_messages": "bool"},
    "unbanChatMember": {**OF_PERSON, "only_if_banned": "bool"},
}

# https://core.telegram.org/bots/api#chatpermissions
PERMISSIONS = {
    f"can_{what}"
    for what in """send_messages send_audios send_documents send_photos send_videos send_video_notes send_voice_notes
    send_polls send_other_messages add_web_page_previews react_to_messages edit_tag change_info invite_users pin_messages
    manage_topics""".split()
}


# What an item of an album takes: https://core.telegram.org/bots/api#inputmediaphoto and those after it.
ITEM = {"type", "media", "caption", "parse_mode", "caption_entities"}
SHOWN = {"show_caption_above_media", "has_spoiler"}
ITEMS = {
    "photo": ITEM | SHOWN,
    "video": ITEM | SHOWN | {"thumbnail", "cover", "start_timestamp", "width", "height", "duration", "supports_streaming"},
    "document": ITEM | {"thumbnail", "disable_content_type_detection"},
    "audio": ITEM | {"thumbnail", "duration", "performer", "title"},
}


def refuse(words, code=400, kind="Bad Request", **parameters):
    body = {"ok": False, "error_code": code, "description": f"{kind}: {words}"}
    raise Refused(Answer(code, {**body, "parameters": parameters} if parameters else body))


def only(value, names, what):
    """Its members are these and no others: the server would ignore them."""
    if not isinstance(value, dict):
        refuse(f"{what} must be an object")
    for name in value.keys() - names:
        refuse(f"{what} has no {name}")


def typed(name, kind, value):
    """The value of a parameter, checked."""
    if kind == "int" and (not isinstance(value, int) or isinstance(value, bool)):
        refuse(f"{name} must be an Integer, not {value!r}")
    if kind == "bool" and not isinstance(value, bool):
        refuse(f"{name} must be a Boolean, not {value!r}")
    if kind == "str" and not isinstance(value, str):
        refuse(f"{name} must be a String, not {value!r}")
    if kind == "mode" and value != "HTML":
        refuse("unsupported parse_mode")
    if kind == "preview":
        only(value, {"is_disabled", "url", "prefer_small_media", "prefer_large_media", "show_above_text"}, name)
    if kind == "reply":
        only(value, {"message_id", "chat_id", "allow_sending_without_reply", "quote"}, name)
        typed("message_id", "int", value.get("message_id"))
    if kind == "keyboard":
        keyboard(value)
    if kind == "reaction":
        for one in value:
            only(one, {"type", "emoji", "custom_emoji_id"}, name)
            if one["type"] == "emoji" and one["emoji"] not in REACTIONS:
                refuse("REACTION_INVALID")
        if len(value) > 1:
            refuse("REACTIONS_TOO_MANY")
    if kind == "options":
        if not 2 <= len(value) <= 12:
            refuse("poll must have at least 2 options and at most 12")
        for option in value:
            only(option, {"text", "text_parse_mode", "text_entities"}, name)
            if not 1 <= units(option["text"]) <= 100:
                refuse("poll options length must not exceed 100")
    if kind == "media" and not isinstance(value, list):
        refuse(f"{name} must be an Array of InputMedia")
    if kind == "ids":
        # "1-100 identifiers of messages to delete" (https://core.telegram.org/bots/api#deletemessages).
        if not isinstance(value, list) or not 1 <= len(value) <= 100:
            refuse("message identifiers are not specified, or too many")
        for one in value:
            typed("message_ids", "int", one)
    if kind == "permissions":
        only(value, PERMISSIONS, name)


def keyboard(value):
    """https://core.telegram.org/bots/api#inlinekeyboardbutton: a text, and exactly one thing that it does."""
    only(value, {"inline_keyboard"}, "reply_markup")
    buttons = [button for row in value["inline_keyboard"] for button in row]
    if not buttons or not all(value["inline_keyboard"]) or len(buttons) > BUTTONS:
        refuse("reply markup is empty or too long")
    for button in buttons:
        only(button, {"text", "callback_data", "url"}, "a button")
        if not button.get("text"):
            refuse("text buttons are unallowed in the inline keyboard")
        if len(button.keys() & {"callback_data", "url"}) != 1:
            refuse("exactly one of the optional fields must be used")
        if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= CALLBACK:
            refuse("BUTTON_DATA_INVALID")


def album(items):
    """https://core.telegram.org/bots/api#sendmediagroup: "must include 2-10 items", "Documents and audio files can be only
    grouped in an album with messages of the same type"."""
    if not 2 <= len(items) <= 10:
        refuse("wrong number of messages in the album: it must include 2-10 items")
    for item in items:
        if not isinstance(item, dict) or item.get("type") not in ITEMS:
            refuse("an item of the album must be a photo, a video, a document or an audio file")
        only(item, ITEMS[item["type"]], f"InputMedia of type {item['type']}")
        for name in ("parse_mode", "caption"):
            if name in item:
                typed(name, "mode" if name == "parse_mode" else "str", item[name])
        # "Pass attach://<file_attach_name> to upload a new one": nothing else of a file is here.
        if not str(item.get("media", "")).startswith("attach://"):
            refuse("wrong file identifier/HTTP URL specified")
    kinds = {"seen" if item["type"] in ("photo", "video") else item["type"] for item in items}
    if len(kinds) > 1:
        refuse(f"{' and '.join(sorted(kinds))} can't be mixed in an album with other media types")


def visible(text, mode, most, what):
    """What people see of it, by Telegram's own parser."""
    if mode:
        asked = {"@type": "parseTextEntities", "text": text, "parse_mode": {"@type": "textParseModeHTML"}}
        read = json.loads(tdjson.td_execute(json.dumps(asked).encode()))
        if read["@type"] == "error":
            refuse(read["message"].replace("Can't parse entities", "can't parse entities"))
        text = read["text"]
    if units(text) > most:
        refuse("message is too long" if what == "text" else "message caption is too long")
    if what == "text" and not text.strip():
        refuse("message text is empty")
    return text


class Bot:
    """What is in the chats."""

    def __init__(self, token):
        self.token, self.messages, self.last, self.topics = token, {}, {}, set()
        # What was not acknowledged yet, by `update_id` (#getupdates).
        self.updates, self.came, self.update = {}, threading.Condition(), 1000

    def happens(self, what):
        """Somebody writes to the bot."""
        with self.came:
            self.update += 1
            message = {"message_id": self.update, "date": int(time.time()), **what}
            self.updates[self.update] = {"update_id": self.update, "message": message}
            self.came.notify_all()
            return {"update_id": self.update}

    def waits(self, request):
        """Long polling: until something comes, and never as long as it is asked for, so that tests end."""
        if request.path[1:] == ["getUpdates"] and request.path[0] == f"bot{self.token}":
            offset = (request.body or {}).get("offset", 0)
            with self.came:
                self.came.wait_for(lambda: any(number >= offset for number in self.updates), 1)

    def told(self, given):
        """"An update is considered confirmed as soon as getUpdates is called with an offset higher than its update_id." """
        with self.came:
            for number in [number for number in self.updates if number < given.get("offset", 0)]:
                del self.updates[number]
            return [self.updates[number] for number in sorted(self.updates)][: given.get("limit", 100)]

    def __call__(self, request):
        if request.path[0] != f"bot{self.token}":
            # So says the server for a token that is none, and for one that is none any more.
            known = request.path[0].removeprefix("bot").split(":")[0].isdigit() and ":" in request.path[0]
            refuse_token = Answer(401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
            raise Refused(refuse_token if known else Answer(404, {"ok": False, "error_code": 404, "description": "Not Found"}))
        (method,) = request.path[1:]
        if method not in METHODS:
            refuse("method not found", 404, "Not Found")
        if method == "getMe":
            return self.done({"id": 123456, "is_bot": True, "first_name": "Hub", "username": "HubTestBot"})
        if request.method != "POST":
            refuse("this double takes POST only", 405)
        given = self.parameters(METHODS[method], request)
        return self.done(self.told(given) if method == "getUpdates" else self.call(method, given, request.files))

    def done(self, result):
        return Answer(200, {"ok": True, "result": result})

    def parameters(self, known, request):
        given = request.body if request.kind == "application/json" else dict(request.fields)
        if request.kind == "multipart/form-data":
            for name, text in given.items():
                kind = known.get(name, "").rstrip("!")
                # "Any complex object must be JSON-serialized" (https://core.telegram.org/bots/api#making-requests).
                given[name] = text if kind in ("str", "mode", "") or text.startswith("@") else json.loads(text)
        # The files of an album are no parameters: its items name them.
        given.update({} if "media" in known else request.files)
        for name in given.keys() - known.keys():
            refuse(f"there is no parameter {name}, and the server would ignore it")
        if isinstance(given.get("media"), list):
            album(given["media"])
            names = [item["media"].removeprefix("attach://") for item in given["media"]]
            if len(set(names)) < len(names) or set(names) != request.files.keys():
                refuse("the files are not those that the album names")
        for name, kind in known.items():
            if kind.endswith("!") and name not in given:
                refuse(f"{name} is empty")
        for name, value in given.items():
            kind = known[name].rstrip("!")
            if kind == "file" and name not in request.files:
                refuse(f"there is no {name} in the request")
            if kind == "chat":
                self.chat(value)
            typed(name, kind, value)
        return given

    def chat(self, chat):
        if chat == MOVED:
            refuse("group chat was upgraded to a supergroup chat", migrate_to_chat_id=NEW_HOME)
        if chat == BLOCKED:
            refuse("bot was blocked by the user", 403, "Forbidden")
        if chat not in CHATS:
            refuse("chat not found")

    def call(self, method, given, files):
        chat = given["chat_id"]
        if method == "sendMediaGroup":
            return self.album(chat, given, files)
        if method == "deleteMessages":
            # "If some of the specified messages can't be found, they are skipped."
            for number in given["message_ids"]:
                self.messages.pop((chat, number), None)
            return True
        if method.startswith("send"):
            return self.send(method, chat, given)
        if method == "createForumTopic":
            if chat != FORUM:
                refuse("the chat is not a forum")
            if not 1 <= units(given["name"]) <= 128:
                refuse("TOPIC_TITLE_INVALID")
            topic = self.number(chat)
            self.topics.add(topic)
            return {"message_thread_id": topic, "name": given["name"], "icon_color": 7322096}
        if "message_id" in given:
            return self.about(method, chat, given)
        if chat != FORUM:
            refuse("method is available for supergroup and channel chats only")
        if method == "unbanChatMember" and not given.get("only_if_banned"):
            refuse("this double does not put out who is not banned")
        return True

    def place(self, chat, given):
        topic = given.get("message_thread_id")
        if topic is not None and topic not in self.topics:
            refuse("message thread not found")
        reply = given.get("reply_parameters")
        if reply and (chat, reply["message_id"]) not in self.messages and not reply.get("allow_sending_without_reply"):
            refuse("message to be replied not found")
        return topic

    def send(self, method, chat, given):
        topic = self.place(chat, given)
        mode, text = given.get("parse_mode"), None
        if method == "sendMessage":
            text = visible(given["text"], mode, TEXT, "text")
        elif method == "sendPoll":
            if not 1 <= units(given["question"]) <= 300:
                refuse("poll question length must not exceed 300")
            if not 5 <= given.get("open_period", 5) <= 2_628_000:
                refuse("wrong open_period")
        else:
            visible(given.get("caption", ""), mode, CAPTION, "caption")
            self.file(method, next(value for name, value in given.items() if METHODS[method][name] == "file!"))
        number = self.number(chat)
        self.messages[(chat, number)] = text
        message = {"message_id": number, "date": 1, "chat": {"id": chat}}
        return {**message, "message_thread_id": topic, "is_topic_message": True} if topic else message

    def album(self, chat, given, files):
        """As many messages as it has items, which are one to whoever sees them."""
        self.place(chat, given)
        for item in given["media"]:
            visible(item.get("caption", ""), item.get("parse_mode"), CAPTION, "caption")
            method = {"photo": "sendPhoto", "video": "sendVideo", "audio": "sendAudio"}.get(item["type"], "sendDocument")
            self.file(method, files[item["media"].removeprefix("attach://")])
        made = [self.number(chat) for _ in given["media"]]
        for number in made:
            self.messages[(chat, number)] = None
        return [{"message_id": number, "date": 1, "chat": {"id": chat}, "media_group_id": str(made[0])} for number in made]

    def file(self, method, file):
        if not file.data:
            refuse("file must be non-empty")
        if len(file.data) > (PHOTO if method == "sendPhoto" else FILE):
            refuse("Request Entity Too Large", 413)
        if method == "sendPhoto" and not file.data.startswith((b"\x89PNG", b"\xff\xd8\xff", b"RIFF")):
            refuse("IMAGE_PROCESS_FAILED")
        if method == "sendVoice" and not file.data.startswith((b"OggS", b"ID3")):
            refuse("wrong type of the file")

    def about(self, method, chat, given):
        key = (chat, given["message_id"])
        if key not in self.messages:
            words = {"edit": "message to edit", "dele": "message to delete", "setM": "message to react"}
            refuse(f"{words.get(method[:4], 'message to pin')} not found")
        if method == "deleteMessage":
            del self.messages[key]
        if method == "editMessageText":
            if self.messages[key] is None:
                refuse("there is no text in the message to edit")
            text = visible(given["text"], given.get("parse_mode"), TEXT, "text")
            if text == self.messages[key]:
                refuse(
                    "message is not modified: specified new message content and reply markup are exactly the same as a "
                    "current content and reply markup of the message"
                )
            self.messages[key] = text
        if method == "editMessageCaption":
            visible(given.get("caption", ""), given.get("parse_mode"), CAPTION, "caption")
        return {"message_id": key[1], "date": 1, "chat": {"id": chat}} if method.startswith("edit") else True

    def number(self, chat):
        self.last[chat] = self.last.get(chat, 0) + 1
        return self.last[chat]


if __name__ == "__main__":
    tdjson.td_execute(b'{"@type":"setLogVerbosityLevel","new_verbosity_level":0}')
    serve(int(sys.argv[1]), Bot(sys.argv[2]))
