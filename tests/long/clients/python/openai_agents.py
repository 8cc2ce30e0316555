from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from first_calls import KEY, ORIGIN, call, run
from openai import AsyncOpenAI


@function_tool
def history_fun_fact(subject: str) -> str:
    """Return a short history fact."""
    return "Sharks are older than trees."


def fresh():
    # A client belongs to one event loop, and each call here has its own.
    set_default_openai_client(AsyncOpenAI(base_url=f"{ORIGIN}/v1", api_key=KEY), use_for_tracing=False)
    set_tracing_disabled(True)


@call("agent")
async def agent():
    fresh()
    helper = Agent(name="Assistant", instructions="You are a helpful assistant", model="gpt-5.2")
    assert (await Runner.run(helper, "Write a haiku about recursion in programming.")).final_output


@call("agent with a tool, then a second turn")
async def tools():
    fresh()
    tutor = Agent(name="History Tutor", instructions="Answer history questions.", model="gpt-5.2", tools=[history_fun_fact])
    first = await Runner.run(tutor, "Tell me something surprising about ancient life.")
    assert first.final_output
    turn = [*first.to_input_list(), {"role": "user", "content": "And another one."}]
    assert (await Runner.run(tutor, turn)).final_output


@call("agent, streamed")
async def streamed():
    fresh()
    result = Runner.run_streamed(Agent(name="Joker", model="gpt-5.2"), input="Please tell me 5 jokes.")
    assert [event async for event in result.stream_events()]
    assert result.final_output


run()
