from first_calls import KEY, ORIGIN, call, run
from openai import OpenAI
from pydantic import BaseModel

client = OpenAI(base_url=f"{ORIGIN}/v1", api_key=KEY)


@call("responses")
def responses():
    response = client.responses.create(
        model="gpt-5.2", instructions="You are a coding assistant that talks like a pirate.", input="How do I check?"
    )
    assert response.output_text


@call("responses, streamed")
def streamed_responses():
    stream = client.responses.create(model="gpt-5.2", input="Write a one-sentence bedtime story.", stream=True)
    assert "response.completed" in [event.type for event in stream]


@call("chat")
def chat():
    completion = client.chat.completions.create(
        model="gpt-5.2",
        messages=[{"role": "developer", "content": "Talk like a pirate."}, {"role": "user", "content": "Hello"}],
    )
    assert completion.choices[0].message.content


@call("chat, streamed")
def streamed_chat():
    with client.chat.completions.stream(model="gpt-4o", messages=[{"role": "user", "content": "Hello"}]) as stream:
        assert stream.get_final_completion().choices[0].message.content


@call("structured output")
def structured():
    class Event(BaseModel):
        name: str
        date: str

    completion = client.chat.completions.parse(
        model="gpt-4o",
        messages=[{"role": "user", "content": "Alice and Bob meet on Friday."}],
        response_format=Event,
    )
    assert completion.choices[0].message.parsed.name


@call("embeddings")
def embeddings():
    vectors = client.embeddings.create(model="text-embedding-3-small", input=["one text", "another text"])
    assert len(vectors.data) == 2 and len(vectors.data[0].embedding) > 1


@call("moderations")
def moderations():
    response = client.moderations.create(model="omni-moderation-latest", input="...text to classify goes here...")
    assert response.results[0].flagged is False


@call("images")
def images():
    result = client.images.generate(model="gpt-image-1", prompt="A cute baby sea otter")
    assert result.data[0].b64_json or result.data[0].url


@call("speech")
def speech():
    answer = client.audio.speech.with_streaming_response.create(model="gpt-4o-mini-tts", voice="coral", input="Today is a day.")
    with answer as response:
        assert len(response.read()) > 0


@call("models")
def models():
    assert "gpt-4o" in [model.id for model in client.models.list()]


run()
