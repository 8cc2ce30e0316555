import httpx
from first_calls import KEY, ORIGIN, call, run
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


@call("list tools, call one")
async def tools():
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as http:
        async with Client(streamable_http_client(f"{ORIGIN}/mcp", http_client=http)) as client:
            assert (await client.list_tools()).tools
            assert not (await client.call_tool("image_search", {"q": "otters"})).is_error


run()
