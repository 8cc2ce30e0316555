/** Needles shorter than this would be found in any answer. */
export const MIN_SECRET_LENGTH = 4

/** One way to write a character. `fold`: hexadecimal digits of either case. */
interface Spelling {
  readonly bytes: Uint8Array
  readonly fold: boolean
}

/** A secret, as the spellings of its characters. */
type Needle = readonly (readonly Spelling[])[]
type Found = 'yes' | 'no' | 'maybe'

/**
 * Finds secrets in bytes that come in parts, as they are and as JSON escapes them, also across the border of two parts. Holds back only
 * bytes that may be the beginning of a secret.
 */
export class SecretGuard {
  private readonly needles: readonly Needle[]
  /** 1 for the bytes that a secret may begin with. */
  private readonly starts = new Uint8Array(256)
  private pending: Uint8Array = new Uint8Array()

  constructor(secrets: readonly string[]) {
    this.needles = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH).map(needleOf)
    for (const [first = []] of this.needles) for (const { bytes } of first) this.starts[bytes[0] ?? 0] = 1
  }

  /** What may pass. `leaked`: a secret follows it, so that nothing more may. */
  push(chunk: Uint8Array): { readonly passes: Uint8Array; readonly leaked: boolean } {
    if (this.needles.length === 0) return { passes: chunk, leaked: false }
    const bytes = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    this.pending = new Uint8Array()
    for (let at = 0; at < bytes.length; at++) {
      if (this.starts[bytes[at] ?? 0] === 0) continue
      const found = this.secretAt(bytes, at)
      if (found === 'no') continue
      if (found === 'maybe') this.pending = bytes.slice(at)
      return { passes: bytes.subarray(0, at), leaked: found === 'yes' }
    }
    return { passes: bytes, leaked: false }
  }

  /** What was held back, once no more bytes come. */
  end(): Uint8Array {
    const rest = this.pending
    this.pending = new Uint8Array()
    return rest
  }

  private secretAt(bytes: Uint8Array, at: number): Found {
    let best: Found = 'no'
    for (const needle of this.needles) {
      const found = spelled(bytes, at, needle)
      if (found === 'yes') return 'yes'
      if (found === 'maybe') best = 'maybe'
    }
    return best
  }
}

/** A stream's bytes up to a secret, where it fails. */
export function guardedBody(
  body: ReadableStream<Uint8Array>,
  secrets: readonly string[],
  onLeak: () => void,
): ReadableStream<Uint8Array> {
  const guard = new SecretGuard(secrets)
  const reader = body.getReader()
  let hasLeaked = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          if (hasLeaked) throw new Error('the stream contained our own secret')
          const { done, value } = await reader.read()
          const { passes, leaked } = done ? { passes: guard.end(), leaked: false } : guard.push(value)
          hasLeaked = leaked
          if (leaked) onLeak()
          if (passes.length > 0) controller.enqueue(passes)
          if (done) controller.close()
          if (done || passes.length > 0) return
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function needleOf(secret: string): Needle {
  const encoder = new TextEncoder()
  return [...secret].map((character): Spelling[] => {
    const units = [...character.split('')].map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
    return [
      { bytes: encoder.encode(character), fold: false },
      { bytes: encoder.encode(units.map((unit) => `\\u${unit}`).join('')), fold: true },
      { bytes: encoder.encode(`\\${character}`), fold: false },
    ]
  })
}

/** Whether the bytes from `at` spell a secret; `maybe` if they end before that is clear. */
function spelled(bytes: Uint8Array, at: number, needle: Needle): Found {
  let ends: readonly number[] = [at]
  for (const spellings of needle) {
    const next: number[] = []
    for (const end of ends)
      for (const { bytes: wanted, fold } of spellings) {
        const found = begins(bytes, end, wanted, fold)
        if (found === 'maybe') return 'maybe'
        if (found === 'yes') next.push(end + wanted.length)
      }
    if (next.length === 0) return 'no'
    ends = next
  }
  return 'yes'
}

function begins(bytes: Uint8Array, at: number, wanted: Uint8Array, fold: boolean): Found {
  for (let i = 0; i < wanted.length; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) return 'maybe'
    const isLetter = fold && byte >= 0x41 && byte <= 0x46
    if ((isLetter ? byte | 0x20 : byte) !== wanted[i]) return 'no'
  }
  return 'yes'
}
