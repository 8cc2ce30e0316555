from first_calls import KEY, ORIGIN, call, run
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=f"{ORIGIN}/v1", api_key=KEY)


class City(BaseModel):
    city: str
    country: str


@call("agent over chat")
def chat():
    agent = Agent(OpenAIChatModel("gpt-4o", provider=provider), instructions="Be concise.")
    assert agent.run_sync('Where does "hello world" come from?').output


@call("agent over Responses, two turns")
def responses():
    agent = Agent(OpenAIResponsesModel("gpt-5.2", provider=provider))
    first = agent.run_sync("Who was Albert Einstein?")
    assert agent.run_sync("What was his equation?", message_history=first.new_messages()).output


@call("agent with a tool over Responses")
def tool():
    agent = Agent(OpenAIResponsesModel("gpt-5.2", provider=provider))

    @agent.tool_plain
    def roll_dice(sides: str) -> str:
        """Roll a die and return the result."""
        return "4"

    assert agent.run_sync("My guess is 4").output


@call("structured output")
def structured():
    agent = Agent(OpenAIChatModel("gpt-4o", provider=provider), output_type=City)
    assert agent.run_sync("Where were the olympics held in 2012?").output.city


run()
