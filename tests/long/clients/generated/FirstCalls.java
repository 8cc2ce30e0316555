import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.DataApi;
import org.openapitools.client.api.ModelsApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.ChatCompletions200Response;
import org.openapitools.client.model.ChatCompletionsRequest;
import org.openapitools.client.model.ChatCompletionsRequestMessagesInner;
import org.openapitools.client.model.ImageSearchResult;

/** Makes the first calls and prints one JSON line for each: what it was, and why it failed if it did. */
public class FirstCalls {
    private static final Gson GSON = new GsonBuilder().serializeNulls().create();

    public static void main(String[] args) {
        ApiClient client = new ApiClient().setBasePath(System.getenv("GATEWAY_ORIGIN"));
        ((HttpBearerAuth) client.getAuthentication("apiKey")).setBearerToken(System.getenv("GATEWAY_API_KEY"));

        run("a paid search", () -> {
            ApiResponse<ImageSearchResult> answer = new DataApi(client).imageSearchWithHttpInfo(
                "otters", null, null, null, null, null, null, null, null, null, null, null, null);
            long cost = Long.parseLong(answer.getHeaders().get("x-cost-micros-usd").get(0));
            return cost > 0 && answer.getData().getResults() != null;
        });
        run("a chat", () -> {
            ChatCompletionsRequestMessagesInner message = new ChatCompletionsRequestMessagesInner()
                .role(ChatCompletionsRequestMessagesInner.RoleEnum.USER)
                .content("Hello");
            ChatCompletionsRequest request =
                new ChatCompletionsRequest().model("gpt-4o").messages(Collections.singletonList(message));
            ChatCompletions200Response answer = new ModelsApi(client).chatCompletions(request, null, null, null, null);
            return !answer.getChoices().get(0).getMessage().getContent().isEmpty();
        });
        System.exit(0);
    }

    private static void run(String call, Callable<Boolean> asked) {
        Map<String, String> line = new HashMap<>();
        line.put("call", call);
        try {
            line.put("why", asked.call() ? null : "an empty answer");
        } catch (ApiException failed) {
            line.put("why", failed.getCode() + " " + failed.getMessage() + " " + failed.getResponseBody());
        } catch (Exception failed) {
            line.put("why", failed.toString());
        }
        System.out.println(GSON.toJson(line));
    }
}
