package main

import (
	"context"

	"clients/calls"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func main() {
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL(calls.Origin+"/v1"), option.WithAPIKey(calls.Key))
	messages := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say this is a test")}
	calls.Run("responses", func() error {
		input := responses.ResponseNewParamsInputUnion{OfString: openai.String("Write me a haiku about computers")}
		answer, err := client.Responses.New(ctx, responses.ResponseNewParams{Input: input, Model: "gpt-5.2"})
		if err != nil {
			return err
		}
		return calls.Holds(answer.OutputText() != "", "an empty answer")
	})
	calls.Run("chat", func() error {
		answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Messages: messages, Model: "gpt-4o"})
		if err != nil {
			return err
		}
		return calls.Holds(answer.Choices[0].Message.Content != "", "an empty answer")
	})
	calls.Run("chat, streamed", func() error {
		stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Messages: messages, Model: "gpt-4o"})
		acc := openai.ChatCompletionAccumulator{}
		for stream.Next() {
			acc.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			return err
		}
		return calls.Holds(acc.Choices[0].Message.Content != "", "an empty answer")
	})
	calls.Run("embeddings", func() error {
		input := openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}}
		answer, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{Input: input, Model: "text-embedding-3-small"})
		if err != nil {
			return err
		}
		return calls.Holds(len(answer.Data) == 2, "not two vectors")
	})
}
