/**
 * How many model tokens a text costs, near enough: a quarter of its UTF-8 bytes, rounded up. English prose and code come
 * out within about a fifth of common tokenizers; other scripts come out high, which keeps a budget on the safe side.
 * Every budget of the local search is counted with this and nothing else.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text, 'utf8') / 4)
}

/** The text, cut at a character so that it costs at most `tokens`. */
export function cutToTokens(text: string, tokens: number): string {
  if (estimateTokens(text) <= tokens) return text
  const room = Math.max(0, tokens * 4)
  const cut = Buffer.from(text.slice(0, room), 'utf8').subarray(0, room).toString('utf8')
  return cut.replace(/\uFFFD+$/, '')
}
