"""A bot of discord.py at a double: `python discord-bot.py BASE_URL TOKEN`.

It writes a line for each message that it is told of and for each that was changed. The end of its input ends it.
"""

import asyncio
import json
import sys

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

base_url, token = sys.argv[1:]
Route.BASE = f"{base_url}/api/v10"
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(base_url).with_scheme("ws")
# The double does not compress, which discord.py asks for unless it is told otherwise.
connected = DiscordWebSocket.from_client.__func__
DiscordWebSocket.from_client = classmethod(lambda cls, *args, **more: connected(cls, *args, **more, compress=False))


class Bot(discord.Client):
    def say(self, kind, message):
        mentioned = self.user in message.mentions
        line = {"kind": kind, "from": str(message.author.id), "direct": message.guild is None, "mentions": mentioned, "text": message.content}
        print(json.dumps(line), flush=True)

    async def on_message(self, message):
        self.say("line", message)

    async def on_message_edit(self, _, message):
        self.say("edit", message)


async def main():
    intents = discord.Intents.none()
    intents.messages = intents.reactions = intents.polls = intents.message_content = True
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    async with Bot(intents=intents) as bot:
        runs = asyncio.create_task(bot.start(token))
        await asyncio.wait([runs, asyncio.create_task(ended.wait())], return_when=asyncio.FIRST_COMPLETED)
        if runs.done():
            runs.result()


asyncio.run(main())
