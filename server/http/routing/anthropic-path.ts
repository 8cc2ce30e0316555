/** Paths of Anthropic's SDK, where errors use Anthropic's format. */
export function isAnthropicPath(path: string): boolean {
  return path === '/v1/messages' || path === '/v1/messages/count_tokens'
}
