import type { TokenCounts } from '../usage/call-record'

/** The kinds of token, and their parts that may have a price of their own. Without one, a part costs what its kind costs. */
export const TOKEN_KINDS = {
  input: ['input_audio', 'input_image'],
  cache_read: ['cache_read_audio'],
  cache_write: ['cache_write_1h', 'cache_write_12h'],
  output: ['output_reasoning', 'output_audio', 'output_image'],
} as const

export type TokenKind = keyof typeof TOKEN_KINDS
export type TokenPart = (typeof TOKEN_KINDS)[TokenKind][number]

/** Token counts of a call, with everything else that decides its price. */
export interface ModelTokens extends TokenCounts {
  /** Absent if there are none. */
  readonly parts?: Readonly<Partial<Record<TokenPart, number>>>
  /** The service tier that the answer names. */
  readonly tier?: string | undefined
  /** How often the vendor's own tools were used, by names such as `web_search`. */
  readonly uses?: Readonly<Record<string, number>>
}
