export interface Tokenizer {
  encode(text: string): number[]
  decode(tokens: readonly number[]): string
}

let loaded: Tokenizer | null = null

/** The tokenizer of the sandbox, loaded at the first call: its table takes some of the memory and a moment. */
export function tokenizer(): Tokenizer {
  loaded ??= load()
  return loaded
}

function load(): Tokenizer {
  // In the form that counts the tokens of web pages, so that the binary holds its table once.
  const { encode, decode } =
    require('gpt-tokenizer/encoding/cl100k_base') as typeof import('gpt-tokenizer/encoding/cl100k_base')
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
