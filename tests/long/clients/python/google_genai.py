from first_calls import KEY, ORIGIN, call, run
from google import genai
from google.genai import types

client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=ORIGIN))


@call("generate content")
def generate():
    assert client.models.generate_content(model="gemini-2.5-flash", contents="Why is the sky blue?").text


@call("generate content, streamed")
def stream():
    chunks = client.models.generate_content_stream(model="gemini-2.5-flash", contents="Tell me a story.")
    assert "".join(chunk.text or "" for chunk in chunks)


@call("chat")
def chat():
    conversation = client.chats.create(model="gemini-2.5-flash")
    assert conversation.send_message("Tell me a story").text
    assert conversation.send_message("Summarize it").text


@call("tools")
def tools():
    def get_current_weather(location: str) -> str:
        """Returns the current weather.

        Args:
          location: The city and state, e.g. San Francisco, CA
        """
        return "sunny"

    config = types.GenerateContentConfig(tools=[get_current_weather])
    assert client.models.generate_content(model="gemini-2.5-flash", contents="What is the weather?", config=config).text


@call("count tokens")
def count():
    assert client.models.count_tokens(model="models/sandbox/echo", contents="why is the sky blue?").total_tokens > 0


@call("embed content")
def embed():
    answer = client.models.embed_content(model="models/sandbox/embed", contents=["why is the sky blue?", "why?"])
    assert len(answer.embeddings) == 2


@call("models")
def models():
    assert any("gemini-2.5-flash" in (model.name or "") for model in client.models.list())


run()
