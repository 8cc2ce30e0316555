from first_calls import KEY, ORIGIN, call, run
from paid_data_api_gateway_client import AuthenticatedClient
from paid_data_api_gateway_client.api.data import image_search
from paid_data_api_gateway_client.api.models import chat_completions
from paid_data_api_gateway_client.models import (
    ChatCompletionsBody,
    ChatCompletionsBodyMessagesItem,
    ChatCompletionsBodyMessagesItemRole,
)

client = AuthenticatedClient(base_url=ORIGIN, token=KEY)


@call("a paid search")
def search():
    answer = image_search.sync_detailed(client=client, q="otters")
    assert answer.parsed.results is not None and int(answer.headers["x-cost-micros-usd"]) > 0


@call("a chat")
def chat():
    message = ChatCompletionsBodyMessagesItem(role=ChatCompletionsBodyMessagesItemRole.USER, content="Hello")
    answer = chat_completions.sync(client=client, body=ChatCompletionsBody(model="gpt-4o", messages=[message]))
    assert answer.choices[0].message.content


run()
