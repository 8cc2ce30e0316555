package main

import (
	"context"

	"clients/calls"

	"google.golang.org/genai"
)

func main() {
	ctx := context.Background()
	calls.Run("generate content", func() error {
		client, err := genai.NewClient(ctx, &genai.ClientConfig{
			APIKey:      calls.Key,
			Backend:     genai.BackendGeminiAPI,
			HTTPOptions: genai.HTTPOptions{BaseURL: calls.Origin},
		})
		if err != nil {
			return err
		}
		answer, err := client.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("What is your name?"), nil)
		if err != nil {
			return err
		}
		return calls.Holds(answer.Text() != "", "an empty answer")
	})
}
