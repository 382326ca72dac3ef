"""The Model Context Protocol's own client for Python, as an agent would use it.

    mcp-client.py http URL TOKEN
    mcp-client.py stdio PROGRAM [ARGUMENT...]

Reads one step a line from standard input, as JSON: {"instructions": true} for what the server said first, {"tools": true} (with "meta": {...} for its `_meta`), {"resources": true}, {"call": NAME, "arguments": {...}} (with
"cancel": SECONDS to give it up after that long), {"read": URI}, {"subscribe": URI}, {"unsubscribe": URI}, {"heard": SECONDS} for the
next resource that is said to have changed within that long ("tools", for the list of the tools), {"listen": URI, "call": ..., "arguments": ...} for the same in the way of
2026-07-28 around a call, {"listen": "tools"} for the list of the tools after a look at it. Writes what came of each as a line of JSON. MCP_MODERN=1 opens no session, as that version has it.
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
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError
from mcp.types import PaginatedRequestParams


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


async def step(session, changed, told):
    if "resources" in told:
        return {"resources": [str(resource.uri) for resource in (await session.list_resources()).resources]}
    if "subscribe" in told:
        await session.subscribe_resource(told["subscribe"])
        return {"subscribed": True}
    if "unsubscribe" in told:
        await session.unsubscribe_resource(told["unsubscribe"])
        return {"subscribed": False}
    if "heard" in told:
        try:
            return {"changed": await asyncio.wait_for(changed.get(), told["heard"])}
        except (asyncio.TimeoutError, TimeoutError):
            return {"changed": None}
    if told.get("listen") == "tools":
        async with listen(session, tools_list_changed=True) as subscription:
            before = [tool.name for tool in (await session.list_tools()).tools]
            event = await asyncio.wait_for(anext(subscription), 30)
            return {"before": before, "changed": type(event).__name__}
    if "listen" in told:
        async with listen(session, resource_subscriptions=[told["listen"]]) as subscription:
            await session.call_tool(told["call"], told["arguments"])
            event = await asyncio.wait_for(anext(subscription), 20)
            return {"changed": str(event.uri)}
    if "tools" in told:
        params = PaginatedRequestParams.model_validate({"_meta": told["meta"]}) if "meta" in told else None
        listed = await session.list_tools(params=params)
        tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed.tools]
        return {"tools": tools, "meta": listed.meta}
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
    changed = asyncio.Queue()

    async def hear(message):
        if getattr(message, "method", None) == "notifications/resources/updated":
            await changed.put(str(message.params.uri))
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            await changed.put("tools")

    async with connected(way, rest) as (read, write), ClientSession(read, write, message_handler=hear) as session:
        begun, refused = None, None
        try:
            begun = await (session.discover() if os.environ.get("MCP_MODERN") else session.initialize())
        except MCPError as error:
            refused = {"error": str(error)}
        for line in sys.stdin:
            told = json.loads(line)
            try:
                if refused or "instructions" in told:
                    answer = refused or {"instructions": begun.instructions}
                else:
                    answer = await step(session, changed, told)
            except MCPError as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)


asyncio.run(main())
