from first_calls import KEY, ORIGIN, call, run
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

model = ChatOpenAI(model="gpt-4o", base_url=f"{ORIGIN}/v1", api_key=KEY)


def get_weather(city: str) -> str:
    """Get weather for a given city."""
    return f"It's always sunny in {city}!"


@call("chat")
def invoke():
    assert model.invoke([("system", "You translate English to French."), ("human", "I love programming.")]).content


@call("chat, streamed")
def stream():
    assert "".join(chunk.text for chunk in model.stream("Why do parrots talk?"))


@call("agent with a tool")
def agent():
    result = create_agent(model, tools=[get_weather]).invoke({"messages": [("user", "What is the weather in SF?")]})
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]


@call("agent over Responses")
def agent_over_responses():
    responses = ChatOpenAI(model="gpt-5.2", base_url=f"{ORIGIN}/v1", api_key=KEY, use_responses_api=True)
    result = create_agent(responses, tools=[get_weather]).invoke({"messages": [("user", "What is the weather in SF?")]})
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]


@call("embeddings")
def embeddings():
    # Its tokenizer would be fetched from a host that is not a registry.
    vectors = OpenAIEmbeddings(
        model="text-embedding-3-small", base_url=f"{ORIGIN}/v1", api_key=KEY, check_embedding_ctx_length=False
    )
    assert len(vectors.embed_documents(["a text", "another"])) == 2


@call("Anthropic's chat")
def anthropic():
    claude = ChatAnthropic(model="claude-sonnet-4-5", base_url=ORIGIN, api_key=KEY)
    assert claude.invoke("Hello").content


run()
