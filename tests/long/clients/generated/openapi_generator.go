package main

import (
	"context"

	"generated/calls"
	"generated/gateway"
)

func main() {
	config := gateway.NewConfiguration()
	config.Servers = gateway.ServerConfigurations{{URL: calls.Origin}}
	client := gateway.NewAPIClient(config)
	ctx := context.WithValue(context.Background(), gateway.ContextAccessToken, calls.Key)
	calls.Run("a paid search", func() error {
		found, answer, err := client.DataAPI.ImageSearch(ctx).Q("otters").Execute()
		if err != nil {
			return err
		}
		return calls.Holds(found.Results != nil && answer.Header.Get("X-Cost-Micros-USD") > "0", "no results, or free")
	})
	calls.Run("a chat", func() error {
		message := gateway.NewChatCompletionsRequestMessagesInner("user")
		message.SetContent("Hello")
		body := gateway.NewChatCompletionsRequest("gpt-4o", []gateway.ChatCompletionsRequestMessagesInner{*message})
		said, _, err := client.ModelsAPI.ChatCompletions(ctx).ChatCompletionsRequest(*body).Execute()
		if err != nil {
			return err
		}
		return calls.Holds(len(said.Choices) > 0, "no choices")
	})
}
