import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'

type Cell = string | number | null

/** A line of a CSV file (RFC 4180) that keeps a value as it is: a spreadsheet may take a text that begins with `=` for a formula. An empty text is quoted, null is not. */
export function csvRecord(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join()}\n`
}

function cellText(value: Cell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** Writes text as a new file that is compressed by zstd, private to this user. Reads on only as fast as it writes. */
export async function writeCompressed(path: string, text: AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(text), createZstdCompress(), createWriteStream(path, { mode: 0o600 }))
}

export interface CompressedCsv {
  /** The records, each with its line feed. */
  records(): AsyncGenerator<string, void>
  /** Of the compressed file, in hex. Only after all records were read. */
  checksum(): string
}

/** Reads a compressed CSV file, some of it at a time. Throws if it is cut off or damaged. */
export function readCompressed(file: ReadableStream<Uint8Array>): CompressedCsv {
  const hasher = new Bun.CryptoHasher('sha256')
  async function* hashed() {
    for await (const piece of file) {
      hasher.update(piece)
      yield piece
    }
  }
  return { records: () => recordsOf(hashed()), checksum: () => hasher.digest('hex') }
}

async function* recordsOf(compressed: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const plain = createZstdDecompress()
  const ended = pipeline(Readable.from(compressed), plain)
  // The loop throws it too.
  ended.catch(() => undefined)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const piece of plain) {
    rest += decoder.decode(piece as Uint8Array, { stream: true })
    let from = 0
    for (let end = endOfRecord(rest, from); end > 0; end = endOfRecord(rest, from)) {
      yield rest.slice(from, end)
      from = end
    }
    rest = rest.slice(from)
  }
  await ended
  if (rest !== '') throw new Error('its last line is not complete')
}

/** After the first line feed that is in no quotes; 0 if there is none. */
function endOfRecord(text: string, from: number): number {
  let isQuoted = false
  for (let at = text.indexOf('\n', from), counted = from; at >= 0; counted = at, at = text.indexOf('\n', at + 1)) {
    if (text.slice(counted, at).split('"').length % 2 === 0) isQuoted = !isQuoted
    if (!isQuoted) return at + 1
  }
  return 0
}
