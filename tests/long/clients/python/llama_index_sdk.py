from first_calls import KEY, ORIGIN, call, run
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI, OpenAIResponses

llm = OpenAI(model="gpt-4o-mini", api_base=f"{ORIGIN}/v1", api_key=KEY)


@call("complete")
def complete():
    assert llm.complete("Paul Graham is ").text


@call("chat, streamed")
def stream():
    assert "".join(part.delta or "" for part in llm.stream_chat([ChatMessage(role="user", content="Hello")]))


@call("agent with a tool")
async def agent():
    def multiply(a: float, b: float) -> float:
        """Useful for multiplying two numbers."""
        return a * b

    helper = FunctionAgent(tools=[multiply], llm=llm, system_prompt="You can multiply two numbers.")
    assert str(await helper.run("What is 1234 * 4567?"))


@call("responses")
def responses():
    assert OpenAIResponses(model="gpt-4o-mini", api_base=f"{ORIGIN}/v1", api_key=KEY).complete("Hello").text


@call("embeddings")
def embeddings():
    model = OpenAIEmbedding(model="text-embedding-3-small", api_base=f"{ORIGIN}/v1", api_key=KEY)
    assert len(model.get_text_embedding("Open new worlds of possibility")) > 1


run()
