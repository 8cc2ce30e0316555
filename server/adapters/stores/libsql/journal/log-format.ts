/** One line of the log: the records of one group, as JSON. */
export interface LogLine {
  readonly number: number
  readonly payload: string
}

/** A log without its records. */
export interface LogExtent {
  /** Null if the log is empty. */
  readonly first: number | null
  readonly last: number | null
  /** The end of the last valid line. Anything after it is a torn write that was never acknowledged. */
  readonly goodLength: number
}

/** The log is damaged in its middle: lines that were acknowledged cannot be read. */
export class LogDamaged extends Error {}

const NEW_LINE = 0x0a
/** `checksum length number `, before the payload. */
const HEADER = /^([0-9a-f]{8}) (\d{1,15}) (\d{1,15}) $/
const MAX_HEADER = 8 + 1 + 15 + 1 + 15 + 1

/** A line: checksum, length of the payload in bytes, number, payload. JSON contains no line feed, so a line ends at the first one. */
export function encodeLine({ number, payload }: LogLine): Uint8Array {
  const rest = `${Buffer.byteLength(payload)} ${number} ${payload}`
  return Buffer.from(`${checksum(Buffer.from(rest))} ${rest}\n`)
}

/**
 * How far a log can be read. Numbers increase by one per line. An invalid last line is dropped: each line is on disk before the next
 * one is started, so only the last can be torn. An invalid line followed by a valid one is damage, and throws.
 */
export function logExtent(bytes: Uint8Array): LogExtent {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let first: number | null = null
  let last: number | null = null
  let at = 0
  for (;;) {
    const line = lineAt(buffer, at)
    if (!line) break
    if (last !== null && line.number !== last + 1)
      throw new LogDamaged(`group ${line.number} follows group ${last} at byte ${at}`)
    first ??= line.number
    last = line.number
    at = line.end
  }
  const stray = nextGoodLine(buffer, at)
  if (stray !== null) throw new LogDamaged(`the line at byte ${at} is bad, and group ${stray} stands behind it`)
  return { first, last, goodLength: at }
}

/** Every line of a log, and where they end. */
export function decodeLog(bytes: Uint8Array): { lines: readonly LogLine[]; goodLength: number } {
  const { goodLength } = logExtent(bytes)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, goodLength)
  const lines: LogLine[] = []
  for (let line = lineAt(buffer, 0); line; line = lineAt(buffer, line.end))
    lines.push({ number: line.number, payload: line.payload() })
  return { lines, goodLength }
}

/** A valid line of a log. */
export interface LineAt {
  readonly number: number
  /** Where the next one begins. */
  readonly end: number
  payload(): string
}

/** The line that begins there; null if it is incomplete or invalid. */
export function lineAt(buffer: Buffer, at: number): LineAt | null {
  const end = buffer.indexOf(NEW_LINE, at)
  if (end < 0) return null
  const head = buffer.toString('latin1', at, Math.min(end, at + MAX_HEADER))
  const header = HEADER.exec(head.slice(0, afterThirdSpace(head)))
  const [all = '', sum, length, number] = header ?? []
  const start = at + all.length
  if (!header || end !== start + Number(length)) return null
  if (checksum(buffer.subarray(at + 9, end)) !== sum) return null
  return { number: Number(number), end: end + 1, payload: () => buffer.toString('utf8', start, end) }
}

/** The number of a valid line after the invalid one at `from`. */
function nextGoodLine(buffer: Buffer, from: number): number | null {
  for (let end = buffer.indexOf(NEW_LINE, from); end >= 0; end = buffer.indexOf(NEW_LINE, end + 1)) {
    const line = lineAt(buffer, end + 1)
    if (line) return line.number
  }
  return null
}

function afterThirdSpace(text: string): number {
  let at = 0
  for (let i = 0; i < 3; i++) at = text.indexOf(' ', at) + 1 || text.length
  return at
}

function checksum(bytes: Uint8Array): string {
  return Bun.hash.crc32(bytes).toString(16).padStart(8, '0')
}
