package main

import (
	"context"

	"clients/calls"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func main() {
	ctx := context.Background()
	client := anthropic.NewClient(option.WithBaseURL(calls.Origin), option.WithAPIKey(calls.Key))
	body := anthropic.MessageNewParams{
		MaxTokens: 1024,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is a quaternion?"))},
		Model:     "claude-sonnet-4-5",
	}
	calls.Run("messages", func() error {
		message, err := client.Messages.New(ctx, body)
		if err != nil {
			return err
		}
		return calls.Holds(message.Content[0].Text != "", "an empty answer")
	})
	calls.Run("messages, streamed", func() error {
		stream := client.Messages.NewStreaming(ctx, body)
		message := anthropic.Message{}
		for stream.Next() {
			if err := message.Accumulate(stream.Current()); err != nil {
				return err
			}
		}
		if err := stream.Err(); err != nil {
			return err
		}
		return calls.Holds(message.Content[0].Text != "", "an empty answer")
	})
}
