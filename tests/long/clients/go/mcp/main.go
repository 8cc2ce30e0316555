package main

import (
	"context"

	"clients/calls"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	ctx := context.Background()
	calls.Run("list tools, call one", func() error {
		headers := transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + calls.Key})
		c, err := client.NewStreamableHttpClient(calls.Origin+"/mcp", headers)
		if err != nil {
			return err
		}
		if err := c.Start(ctx); err != nil {
			return err
		}
		start := mcp.InitializeRequest{}
		start.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
		start.Params.ClientInfo = mcp.Implementation{Name: "my-client", Version: "1.0.0"}
		if _, err := c.Initialize(ctx, start); err != nil {
			return err
		}
		tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return err
		}
		if err := calls.Holds(len(tools.Tools) > 0, "no tools"); err != nil {
			return err
		}
		call := mcp.CallToolRequest{}
		call.Params.Name, call.Params.Arguments = "image_search", map[string]any{"q": "otters"}
		result, err := c.CallTool(ctx, call)
		if err != nil {
			return err
		}
		return calls.Holds(!result.IsError, "the tool failed")
	})
}
