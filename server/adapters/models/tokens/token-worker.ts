import { partsOf } from '../../../core/json'
import { countTokens } from '../../websearch/passages/token-count'

/** The thread that counts the tokens of a call's input: a body may be many MiB, and no other call waits for it. */
declare const self: Worker

/** After this long, the rest is estimated at the token density of the part already counted. */
const MAX_MS = 2_000
/** The length of the pieces that are counted at once, so that the time can be checked between them. */
const PIECE = 16_384
/** Text that matches is an image or a file in base64, whose tokens are counted differently. */
const PACKED = /^(?:data:[^,]{0,100},)?[A-Za-z0-9+/_-]{1024,}={0,2}$/

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

/** All texts of a body in pieces, without property names and base64 data. */
function* textsOf(json: unknown): Generator<string> {
  const left: unknown[] = [json]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value === 'string') {
      if (!PACKED.test(value)) for (let at = 0; at < value.length; at += PIECE) yield value.slice(at, at + PIECE)
    } else if (typeof value === 'object' && value !== null) for (const part of partsOf(value)) left.push(part)
  }
}
