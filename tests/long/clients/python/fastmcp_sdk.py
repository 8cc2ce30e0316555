from fastmcp import Client
from first_calls import KEY, ORIGIN, call, run


@call("list tools, call one")
async def tools():
    async with Client(f"{ORIGIN}/mcp", auth=KEY) as client:
        assert "image_search" in [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("image_search", {"q": "otters"})
        assert not result.is_error


run()
