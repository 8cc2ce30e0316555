/** So long are the pieces that are counted at once: the time can be looked at between them. */
const PIECE = 16_384
/** Text of this kind and length is a picture or a file, which has tokens of another kind. */
const PACKED = /^(?:data:[^,]{0,100},)?[A-Za-z0-9+/_-]{1024,}={0,2}$/

/** Every text of a body in pieces, names of members and what is packed as base64 apart. */
export function* textsOf(json: unknown): Generator<string> {
  const left: unknown[] = [json]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value === 'string') {
      if (!PACKED.test(value)) for (let at = 0; at < value.length; at += PIECE) yield value.slice(at, at + PIECE)
    } else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) left.push(part)
  }
}
