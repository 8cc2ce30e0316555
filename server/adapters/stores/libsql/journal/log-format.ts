/** One line of the log: the records of one group, as JSON. */
export interface LogLine {
  readonly number: number
  readonly payload: string
}

export interface LogContent {
  readonly lines: readonly LogLine[]
  /** Where the last good line ends; what stands behind it is a torn write and was never acknowledged. */
  readonly goodLength: number
}

/** The log is damaged in its middle: lines that were acknowledged cannot be read. */
export class LogDamaged extends Error {}

const NEW_LINE = 0x0a
/** `checksum length number `, in front of the payload. */
const HEADER = /^([0-9a-f]{8}) (\d{1,15}) (\d{1,15}) $/
const MAX_HEADER = 8 + 1 + 15 + 1 + 15 + 1

/** A line: checksum, length of the payload in bytes, number, payload. JSON holds no line feed, so a line ends at the first one. */
export function encodeLine({ number, payload }: LogLine): Uint8Array {
  const rest = `${Buffer.byteLength(payload)} ${number} ${payload}`
  return Buffer.from(`${checksum(Buffer.from(rest))} ${rest}\n`)
}

/**
 * Reads a log. Numbers go up by one from line to line. A bad end is dropped: each line is on the disk before the next one is
 * begun, so only the last can be torn. A bad line with a good one behind it is damage, and throws.
 */
export function decodeLog(bytes: Uint8Array): LogContent {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const lines: LogLine[] = []
  let at = 0
  for (;;) {
    const end = buffer.indexOf(NEW_LINE, at)
    const line = end < 0 ? null : decodeLine(buffer.subarray(at, end))
    if (!line) break
    const last = lines.at(-1)
    if (last && line.number !== last.number + 1)
      throw new LogDamaged(`group ${line.number} follows group ${last.number} at byte ${at}`)
    lines.push(line)
    at = end + 1
  }
  const stray = nextGoodLine(buffer, at)
  if (stray) throw new LogDamaged(`the line at byte ${at} is bad, and group ${stray.number} stands behind it`)
  return { lines, goodLength: at }
}

/** A good line that starts after the bad one at `from`. */
function nextGoodLine(buffer: Buffer, from: number): LogLine | null {
  for (let end = buffer.indexOf(NEW_LINE, from); end >= 0; ) {
    const start = end + 1
    end = buffer.indexOf(NEW_LINE, start)
    const line = end < 0 ? null : decodeLine(buffer.subarray(start, end))
    if (line) return line
  }
  return null
}

function decodeLine(line: Buffer): LogLine | null {
  const head = line.toString('latin1', 0, Math.min(line.length, MAX_HEADER))
  const header = HEADER.exec(head.slice(0, afterThirdSpace(head)))
  const [all = '', sum, length, number] = header ?? []
  if (!header || line.length !== all.length + Number(length)) return null
  if (checksum(line.subarray(9)) !== sum) return null
  return { number: Number(number), payload: line.toString('utf8', all.length) }
}

function afterThirdSpace(text: string): number {
  let at = 0
  for (let i = 0; i < 3; i++) at = text.indexOf(' ', at) + 1 || text.length
  return at
}

function checksum(bytes: Uint8Array): string {
  return Bun.hash.crc32(bytes).toString(16).padStart(8, '0')
}
