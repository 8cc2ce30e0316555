import { countTokens } from '../../websearch/passages/token-count'
import { textsOf } from './texts'

/** The thread that counts the tokens of a call's input: a body may be many MiB, and no other call waits for it. */
declare const self: Worker

/** After this long, the rest is estimated at the token density of the part already counted. */
const MAX_MS = 2_000

self.onmessage = ({ data: { id, body } }: MessageEvent<ToTokenThread>) => {
  self.postMessage({ id, tokens: tokensOf(body) } satisfies FromTokenThread)
}

export interface ToTokenThread {
  readonly id: number
  readonly body: Uint8Array
}

export interface FromTokenThread {
  readonly id: number
  readonly tokens: number
}

function tokensOf(body: Uint8Array): number {
  const texts = textsOf(JSON.parse(new TextDecoder().decode(body)))
  const until = performance.now() + MAX_MS
  let tokens = 0
  let counted = 0
  let length = 0
  for (const text of texts) {
    length += text.length
    if (performance.now() > until) continue
    tokens += countTokens(text)
    counted += text.length
  }
  return counted === 0 ? tokens : Math.ceil((tokens * length) / counted)
}
