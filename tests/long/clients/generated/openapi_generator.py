from first_calls import KEY, ORIGIN, call, run
from openapi_client import ApiClient, Configuration, DataApi, ModelsApi
from openapi_client.models import ChatCompletionsRequest, ChatCompletionsRequestMessagesInner

client = ApiClient(Configuration(host=ORIGIN, access_token=KEY))


@call("a paid search")
def search():
    answer = DataApi(client).image_search_with_http_info("otters")
    assert answer.data.results is not None and int(answer.headers["x-cost-micros-usd"]) > 0


@call("a chat")
def chat():
    message = ChatCompletionsRequestMessagesInner(role="user", content="Hello")
    answer = ModelsApi(client).chat_completions(ChatCompletionsRequest(model="gpt-4o", messages=[message]))
    assert answer.choices[0].message.content


run()
