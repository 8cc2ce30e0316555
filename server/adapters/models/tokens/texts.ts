/** The length of the pieces that are counted at once, so that the time can be checked between them. */
const PIECE = 16_384
/** Text that matches is an image or a file in base64, whose tokens are counted differently. */
const PACKED = /^(?:data:[^,]{0,100},)?[A-Za-z0-9+/_-]{1024,}={0,2}$/

/** All texts of a body in pieces, without property names and base64 data. */
export function* textsOf(json: unknown): Generator<string> {
  const left: unknown[] = [json]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value === 'string') {
      if (!PACKED.test(value)) for (let at = 0; at < value.length; at += PIECE) yield value.slice(at, at + PIECE)
    } else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) left.push(part)
  }
}
