import litellm
from first_calls import KEY, ORIGIN, call, run

litellm.telemetry = False
messages = [{"role": "user", "content": "Hello, how are you?"}]
openai = {"api_base": f"{ORIGIN}/v1", "api_key": KEY}


@call("completion")
def completion():
    assert litellm.completion(model="openai/gpt-4o", messages=messages, **openai).choices[0].message.content


@call("completion, streamed")
def stream():
    chunks = litellm.completion(model="openai/gpt-4o", messages=messages, stream=True, **openai)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


@call("responses")
def responses():
    assert litellm.responses(model="openai/gpt-5.2", input="Tell me a story.", **openai).output


@call("embedding")
def embedding():
    assert litellm.embedding(model="openai/text-embedding-3-small", input=["good morning"], **openai).data


@call("moderation")
def moderation():
    assert litellm.moderation(model="omni-moderation-latest", input="hello from litellm", **openai).results


@call("image generation")
def image():
    assert litellm.image_generation(model="openai/gpt-image-1", prompt="cute baby otter", **openai).data


@call("speech")
def speech():
    answer = litellm.speech(model="openai/gpt-4o-mini-tts", voice="alloy", input="the quick brown fox", **openai)
    assert len(answer.content) > 0


@call("Anthropic's messages")
def anthropic():
    answer = litellm.completion(model="anthropic/claude-sonnet-4-5", messages=messages, api_base=ORIGIN, api_key=KEY)
    assert answer.choices[0].message.content


@call("Google's content")
def gemini():
    base = f"{ORIGIN}/v1beta"
    answer = litellm.completion(model="gemini/gemini-2.5-flash", messages=messages, api_base=base, api_key=KEY)
    assert answer.choices[0].message.content


run()
