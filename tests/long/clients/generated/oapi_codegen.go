package main

import (
	"context"
	"net/http"

	"generated/calls"
	"generated/gateway"
)

func main() {
	ctx := context.Background()
	signed := gateway.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+calls.Key)
		return nil
	})
	client, err := gateway.NewClientWithResponses(calls.Origin, signed)
	if err != nil {
		panic(err)
	}
	calls.Run("a paid search", func() error {
		answer, err := client.ImageSearchWithResponse(ctx, &gateway.ImageSearchParams{Q: "otters"})
		if err != nil {
			return err
		}
		cost := answer.HTTPResponse.Header.Get("X-Cost-Micros-USD")
		return calls.Holds(answer.JSON200 != nil && answer.JSON200.Results != nil && cost > "0", string(answer.Body))
	})
	calls.Run("a chat", func() error {
		body := gateway.ChatCompletionsJSONRequestBody{Model: "gpt-4o"}
		if err := calls.Read(`[{"role": "user", "content": "Hello"}]`, &body.Messages); err != nil {
			return err
		}
		answer, err := client.ChatCompletionsWithResponse(ctx, nil, body)
		if err != nil {
			return err
		}
		return calls.Holds(answer.JSON200 != nil && answer.JSON200.Choices != nil, string(answer.Body))
	})
}
