export interface Tokenizer {
  encode(text: string): number[]
  decode(tokens: readonly number[]): string
}

let loading: Promise<Tokenizer> | null = null

/** The tokenizer of the sandbox, loaded at the first call: its table takes some of the memory and a moment. */
export function tokenizer(): Promise<Tokenizer> {
  loading ??= load()
  return loading
}

async function load(): Promise<Tokenizer> {
  const { encode, decode } = await import('gpt-tokenizer/encoding/cl100k_base')
  const options = { allowedSpecial: new Set<string>() }
  return {
    encode: (text) => piecesOf(text).flatMap((piece) => encode(piece, options)),
    decode,
  }
}

/**
 * The text in pieces without a run of letters, or of blanks, over 48 characters: the tokenizer's time grows with the square of
 * the longest run (a minute for 100,000 letters). Text that people write has no such run.
 */
function piecesOf(text: string): string[] {
  return text.replace(/(?:\S{48}(?=\S))|(?:\s{48}(?=\s))/gu, (run) => `${run}\0`).split('\0')
}
