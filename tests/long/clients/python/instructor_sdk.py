import instructor
from first_calls import KEY, ORIGIN, call, run
from openai import OpenAI
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    city: str


def extract(mode):
    client = instructor.from_openai(OpenAI(base_url=f"{ORIGIN}/v1", api_key=KEY), mode=mode)
    return client.chat.completions.create(
        model="gpt-4o", response_model=Person, messages=[{"role": "user", "content": "Extract: Ada of London"}]
    )


@call("extract with a tool")
def tools():
    assert extract(instructor.Mode.TOOLS).name


@call("extract as JSON of a schema")
def schema():
    assert extract(instructor.Mode.JSON_SCHEMA).name


run()
