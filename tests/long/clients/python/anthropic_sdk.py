from anthropic import Anthropic
from first_calls import KEY, ORIGIN, call, run

client = Anthropic(base_url=ORIGIN, api_key=KEY)
messages = [{"role": "user", "content": "Hello, Claude"}]


@call("messages")
def create():
    message = client.messages.create(max_tokens=1024, messages=messages, model="claude-sonnet-4-5")
    assert message.content[0].text


@call("messages, streamed")
def stream():
    with client.messages.stream(max_tokens=1024, messages=messages, model="claude-sonnet-4-5") as events:
        assert events.get_final_text()


@call("tools")
def tools():
    weather = {
        "name": "get_weather",
        "description": "Get the current weather in a given location",
        "input_schema": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
    }
    first = client.messages.create(model="claude-sonnet-4-5", max_tokens=1024, tools=[weather], messages=messages)
    use = [block for block in first.content if block.type == "tool_use"][0]
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "15 degrees"}
    second = client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=1024,
        tools=[weather],
        messages=[*messages, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}],
    )
    assert second.content[0].text


@call("count tokens")
def count():
    assert client.messages.count_tokens(model="sandbox/echo", messages=messages).input_tokens > 0


@call("models")
def models():
    assert "claude-sonnet-4-5" in [model.id for model in client.models.list()]


run()
