"""A person with matrix-nio at a homeserver: `python matrix-person.py HOMESERVER USER TOKEN ROOM`.

It writes a line for everything that is said in the room, and does what each line of its input orders, one of

    {"say": TEXT, "mentions": [USER]}    {"answer": TEXT, "to": EVENT}    {"change": EVENT, "into": TEXT}
    {"react": EMOJI, "to": EVENT}        {"redact": EVENT}                {"attach": NAME, "bytes": TEXT}
    {"read": EVENT}

and says `{"did": EVENT}` then. The end of its input ends it.
"""

import asyncio
import io
import json
import sys

from nio import AsyncClient, RoomMessageText

homeserver, user, token, room = sys.argv[1:]


def say(line):
    print(json.dumps(line), flush=True)


def heard(_, event):
    content = event.source["content"]
    relation = content.get("m.relates_to", {})
    changed = content.get("m.new_content", {}) if relation.get("rel_type") == "m.replace" else None
    if changed is not None:
        return say({"kind": "edit", "from": event.sender, "of": relation["event_id"], "text": changed["body"]})
    answers = relation.get("m.in_reply_to", {}).get("event_id")
    say({"kind": "line", "id": event.event_id, "from": event.sender, "text": event.body, "html": event.formatted_body, "answers": answers})


async def do(client, order):
    text = lambda body, **more: client.room_send(room, "m.room.message", {"msgtype": "m.text", "body": body, **more})
    match order:
        case {"say": body}:
            done = await text(body, **{"m.mentions": {"user_ids": order.get("mentions", [])}})
        case {"answer": body, "to": event}:
            done = await text(body, **{"m.relates_to": {"m.in_reply_to": {"event_id": event}}})
        case {"change": event, "into": body}:
            new = {"msgtype": "m.text", "body": body}
            done = await text(f"* {body}", **{"m.new_content": new, "m.relates_to": {"rel_type": "m.replace", "event_id": event}})
        case {"react": emoji, "to": event}:
            relation = {"rel_type": "m.annotation", "event_id": event, "key": emoji}
            done = await client.room_send(room, "m.reaction", {"m.relates_to": relation})
        case {"redact": event}:
            done = await client.room_redact(room, event)
        case {"attach": name, "bytes": words}:
            data = words.encode()
            uploaded, _ = await client.upload(io.BytesIO(data), "text/plain", name, filesize=len(data))
            content = {"msgtype": "m.file", "body": name, "url": uploaded.content_uri, "info": {"mimetype": "text/plain", "size": len(data)}}
            done = await client.room_send(room, "m.room.message", content)
        case {"read": event}:
            done = await client.update_receipt_marker(room, event)
    say({"did": getattr(done, "event_id", None)} if not hasattr(done, "message") else {"kind": "wrong", "why": str(done)})


async def main():
    client = AsyncClient(homeserver, user)
    client.access_token, client.user_id = token, user
    client.add_event_callback(heard, RoomMessageText)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    syncs = asyncio.create_task(client.sync_forever(timeout=1000, full_state=True))
    await client.synced.wait()
    say({"kind": "there"})
    while line := await orders.readline():
        await do(client, json.loads(line))
    syncs.cancel()
    await client.close()


asyncio.run(main())
