/** Formats of WAV whose bytes tell how long they last: PCM, floats, A-law, mu-law. */
const PLAIN_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7])
const EXTENSIBLE = 0xfffe
/** MP3 has no lower rate than 8 kbit/s. */
const LEAST_MP3_BYTES_PER_SECOND = 1000

/**
 * How many seconds of sound a file has at most, from its bytes: a WAV file or an MP3 file, where no header can promise less than what a
 * decoder finds. Null for all others.
 */
export function soundSeconds(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (textAt(bytes, 0) === 'RIFF' && textAt(bytes, 8) === 'WAVE') return wavSeconds(bytes, view)
  const start = textAt(bytes, 0).startsWith('ID3') ? tagBytes(bytes) : 0
  return frameAt(bytes, start) === null ? null : mp3Seconds(bytes, start)
}

function textAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4))
}

/** All that follows the format counts as samples, whatever length its chunks state. */
function wavSeconds(bytes: Uint8Array, view: DataView): number | null {
  for (let at = 12; at + 32 <= bytes.length; ) {
    const size = view.getUint32(at + 4, true)
    if (textAt(bytes, at) === 'data') return null
    if (textAt(bytes, at) !== 'fmt ') {
      at += 8 + size + (size % 2)
      continue
    }
    const stated = view.getUint16(at + 8, true)
    const format =
      stated === EXTENSIBLE && size >= 40 && at + 34 <= bytes.length ? view.getUint16(at + 32, true) : stated
    const [channels, rate] = [view.getUint16(at + 10, true), view.getUint32(at + 12, true)]
    const perSecond = (channels * rate * view.getUint16(at + 22, true)) / 8
    if (!PLAIN_FORMATS.has(format) || perSecond === 0) return null
    const samples = Math.max(0, bytes.length - (at + size + 16))
    return samples / Math.min(perSecond, view.getUint32(at + 16, true) || perSecond)
  }
  return null
}

/** The length of an ID3 tag, which decoders skip. */
function tagBytes(bytes: Uint8Array): number {
  const digit = (at: number) => (bytes[at] ?? 0) & 0x7f
  return 10 + digit(6) * 0x200000 + digit(7) * 0x4000 + digit(8) * 0x80 + digit(9)
}

const KBITS = [
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const
const HERTZ = [44_100, 48_000, 32_000] as const

interface Frame {
  readonly bytes: number
  readonly seconds: number
}

/** The MP3 frame that begins there; null if none does. */
function frameAt(bytes: Uint8Array, at: number): Frame | null {
  const [head = 0, rates = 0] = [bytes[at + 1], bytes[at + 2]]
  // Eleven bits of synchronization, then the version, and layer III.
  if (bytes[at] !== 0xff || (head & 0xe6) !== 0xe2) return null
  const version = (head >> 3) & 3
  const kbits = KBITS[version === 3 ? 0 : 1][(rates >> 4) - 1]
  const hertz = HERTZ[(rates >> 2) & 3]
  if (version === 1 || kbits === undefined || hertz === undefined) return null
  const rate = version === 3 ? hertz : version === 2 ? hertz / 2 : hertz / 4
  const samples = version === 3 ? 1152 : 576
  return { bytes: Math.floor((samples * kbits * 125) / rate) + ((rates >> 1) & 1), seconds: samples / rate }
}

/** Its frames, one after the other. What follows a gap counts at the lowest rate, since a decoder may find frames there. */
function mp3Seconds(bytes: Uint8Array, start: number): number {
  let seconds = 0
  let at = start
  for (let frame = frameAt(bytes, at); frame !== null; frame = frameAt(bytes, at)) {
    at += frame.bytes
    seconds += frame.seconds
  }
  return seconds + Math.max(0, bytes.length - at) / LEAST_MP3_BYTES_PER_SECOND
}
