"""A bot of python-telegram-bot at a double: `python telegram-bot.py BASE_URL TOKEN`.

It asks for updates and writes a line for each: what it is, who wrote what. What the library does not know is an error of the
double, unless the whole update is of a kind that nobody knows. The end of its input ends it.
"""

import asyncio
import json
import sys

from telegram import Bot, TelegramObject, Update

base_url, token = sys.argv[1:]


def unknown(value):
    """The members of an object, and of those within it, that the library has no place for."""
    if isinstance(value, TelegramObject):
        yield from value.api_kwargs
        for name in value.__slots__:
            yield from unknown(getattr(value, name, None))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from unknown(one)


def line(update):
    message = update.effective_message
    if message is None:
        return {"kind": "strange"}
    if strange := sorted(set(unknown(message))):
        return {"kind": "wrong", "why": f"python-telegram-bot does not know {strange}"}
    kind = "edit" if update.edited_message else "line"
    return {"kind": kind, "from": str(message.from_user.id), "direct": message.chat.type == "private", "text": message.text}


async def read():
    async with Bot(token, base_url=f"{base_url}/bot") as bot:
        offset = 0
        while True:
            for update in await bot.get_updates(offset=offset, timeout=1, allowed_updates=Update.ALL_TYPES):
                offset = update.update_id + 1
                print(json.dumps(line(update)), flush=True)


async def main():
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    reads = asyncio.create_task(read())
    await asyncio.wait([reads, asyncio.create_task(ended.wait())], return_when=asyncio.FIRST_COMPLETED)
    if reads.done():
        reads.result()
    reads.cancel()


asyncio.run(main())
