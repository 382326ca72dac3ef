"""The Model Context Protocol's own client for Python, as an agent would use it.

    mcp-client.py http URL TOKEN
    mcp-client.py stdio PROGRAM [ARGUMENT...]

Reads one step a line from standard input, as JSON: {"tools": true}, {"call": NAME, "arguments": {...}} (with "cancel": SECONDS to
give it up after that long), {"read": URI}. Writes what came of each as a line of JSON.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


@asynccontextmanager
async def connected(way, rest):
    if way == "http":
        url, token = rest
        # Nothing of this machine's settings, and no proxy between two programs on one machine.
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=60) as http:
            async with streamable_http_client(url, http_client=http) as streams:
                yield streams[0], streams[1]
    else:
        server = StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))
        async with stdio_client(server) as (read, write):
            yield read, write


async def step(session, told):
    if "tools" in told:
        tools = (await session.list_tools()).tools
        return {"tools": [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]}
    if "read" in told:
        contents = (await session.read_resource(told["read"])).contents
        return {"contents": [json.loads(content.text) for content in contents]}
    progress = []

    async def on_progress(done, total, message):
        progress.append(message)

    call = session.call_tool(told["call"], told["arguments"], progress_callback=on_progress)
    if "cancel" in told:
        try:
            await asyncio.wait_for(call, told["cancel"])
        except (asyncio.TimeoutError, TimeoutError):
            return {"cancelled": True}
    result = await call
    return {"is_error": bool(result.is_error), "answer": result.structured_content, "progress": progress}


async def main():
    way, *rest = sys.argv[1:]
    async with connected(way, rest) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        for line in sys.stdin:
            try:
                answer = await step(session, json.loads(line))
            except MCPError as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)


asyncio.run(main())
