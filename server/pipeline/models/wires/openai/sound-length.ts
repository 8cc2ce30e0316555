/** Formats of WAV whose bytes tell how long they last: PCM, floats, A-law, mu-law. */
const PLAIN_FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7])
const EXTENSIBLE = 0xfffe
/** Before the samples. Files have a handful. */
const MAX_CHUNKS = 32
/** MP3 has no lower rate than 8 kbit/s. */
const LEAST_MP3_BYTES_PER_SECOND = 1000

/**
 * How many seconds of sound a file has at most, from its bytes: a WAV file or an MP3 file, where no header can promise less than what a
 * decoder finds. Null for all others.
 */
export function soundSeconds(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (textAt(bytes, 0) === 'RIFF' && textAt(bytes, 8) === 'WAVE') return wavSeconds(bytes, view)
  const start = textAt(bytes, 0).startsWith('ID3') ? tagEnd(bytes) : 0
  return frameAt(bytes, start) === null ? null : mp3Seconds(bytes, start)
}

function textAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4))
}

/** All that follows the format counts as samples, whatever length its chunks state. Null with two formats: decoders choose differently. */
function wavSeconds(bytes: Uint8Array, view: DataView): number | null {
  let seconds: number | null = null
  for (let at = 12, chunks = 0; at + 8 <= bytes.length && chunks < MAX_CHUNKS; chunks++) {
    const name = textAt(bytes, at)
    if (name === 'data') return seconds
    const size = view.getUint32(at + 4, true)
    if (name === 'fmt ') {
      const perSecond: number = seconds === null && at + 48 <= bytes.length ? bytesPerSecond(view, at + 8, size) : 0
      if (perSecond === 0) return null
      seconds = Math.max(0, bytes.length - (at + size + 16)) / perSecond
    }
    at += 8 + size + (size % 2)
  }
  return null
}

/** The least that any of the numbers of a format allows; 0 if they do not tell. */
function bytesPerSecond(view: DataView, at: number, size: number): number {
  const stated = view.getUint16(at, true)
  const isExtended = stated === EXTENSIBLE && size >= 40
  const format = isExtended ? view.getUint16(at + 24, true) : stated
  const [channels, rate] = [view.getUint16(at + 2, true), view.getUint32(at + 4, true)]
  const bits = view.getUint16(at + 14, true)
  const valid = isExtended ? view.getUint16(at + 18, true) || bits : bits
  // A-law and mu-law have 8 bits, whatever they state.
  const width = format >= 6 ? 8 : Math.min(bits, valid)
  if (!PLAIN_FORMATS.has(format) || width > 64) return 0
  const frame = Math.min((channels * width) / 8, view.getUint16(at + 12, true) || Number.POSITIVE_INFINITY)
  return Math.min(frame * rate, view.getUint32(at + 8, true) || Number.POSITIVE_INFINITY)
}

/** Where an ID3 tag ends, which decoders skip; they do not skip one that is not valid. */
function tagEnd(bytes: Uint8Array): number {
  const [major = 0xff, minor = 0xff, , ...digits] = bytes.subarray(3, 10)
  if (major === 0xff || minor === 0xff || digits.some((digit) => digit > 0x7f)) return 0
  return digits.reduce((sum, digit) => sum * 0x80 + digit, 0) + 10
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

/** What the frames of one file have in common: a decoder looks for others where it changes. */
function kindAt(bytes: Uint8Array, at: number): number {
  const [head = 0, rates = 0, mode = 0] = bytes.subarray(at + 1, at + 4)
  return ((head & 0xfe) << 16) | ((rates & 0x0c) << 8) | (mode & 0xcf)
}

/** Its frames, one after the other. What follows a gap, or frames of another kind, counts at the lowest rate, since a decoder may find frames there. */
function mp3Seconds(bytes: Uint8Array, start: number): number {
  const kind = kindAt(bytes, start)
  let seconds = 0
  let at = start
  for (let frame = frameAt(bytes, at); frame !== null && kindAt(bytes, at) === kind; frame = frameAt(bytes, at)) {
    at += frame.bytes
    seconds += frame.seconds
  }
  return seconds + Math.max(0, bytes.length - at) / LEAST_MP3_BYTES_PER_SECOND
}
