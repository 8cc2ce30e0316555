module clients

go 1.25

require (
	github.com/anthropics/anthropic-sdk-go v1.84.0
	github.com/mark3labs/mcp-go v1.2.1
	github.com/openai/openai-go/v3 v3.96.0
	google.golang.org/genai v1.77.0
)
