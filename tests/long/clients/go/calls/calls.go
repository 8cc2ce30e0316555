// Package calls runs the first calls of one client and prints one JSON line for each: what it was, and why it failed if it did.
package calls

import (
	"encoding/json"
	"fmt"
	"os"
)

var Origin, Key = os.Getenv("GATEWAY_ORIGIN"), os.Getenv("GATEWAY_API_KEY")

// Run makes one call and reports it.
func Run(call string, run func() error) {
	line := map[string]any{"call": call, "why": nil}
	if err := run(); err != nil {
		line["why"] = fmt.Sprintf("%.600s", err.Error())
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

// Holds fails with what when a condition does not hold.
func Holds(condition bool, what string) error {
	if condition {
		return nil
	}
	return fmt.Errorf("%s", what)
}

// Read fills a value of a generated type from JSON: such types are often without a name.
func Read(text string, into any) error {
	return json.Unmarshal([]byte(text), into)
}
