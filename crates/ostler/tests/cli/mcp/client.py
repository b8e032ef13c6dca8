"""Lists and calls ostler's tools with the `mcp` package: once in every way to begin. Prints a line of JSON for each.

Usage: client.py OSTLER, in the environment of a session.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def play(mode):
    own = {name: value for name, value in os.environ.items() if name.startswith("OSTLER_")}
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env=own)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        good = await client.call_tool("report_progress", {"text": f"by {mode}", "percent": 10})
        # Several at a time.
        loads = await asyncio.gather(*(client.call_tool("context_load", {}) for _ in range(5)))
        bad = await client.call_tool("wait_for", {"pid": "; rm -rf /"})
        return {
            "mode": mode,
            "version": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "good": [good.is_error, good.content[0].text],
            "loads": [load.is_error for load in loads],
            "bad": [bad.is_error, bad.content[0].text],
        }


async def main():
    for mode in ["auto", "2026-07-28", "legacy"]:
        print(json.dumps(await asyncio.wait_for(play(mode), 60)), flush=True)


asyncio.run(main())
