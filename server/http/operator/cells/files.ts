import { micros, toUsdNumber } from '../../../core/money'

/** Joins the records of files, which are sorted; the first record of a CSV file, its head, is not among them. */
export type FileJoin = (files: readonly AsyncIterable<Cells>[], asked: Asked) => AsyncIterable<Cells>
/** A line of a file: its cells as they are written, or one cell that is the whole line. */
export type Cells = readonly string[]
/** What the request asked for, by name. */
export type Asked = (name: string) => string | null

type Key = readonly (string | number)[]

/**
 * Merges files that are sorted by the same key, record by record, so that a long one costs no memory. Records with the same key become what
 * `join` says; null leaves them apart.
 */
export function merged(
  keyOf: (cells: Cells) => Key,
  join: (a: Cells, b: Cells) => Cells | null,
  order: 'rising' | 'falling' = 'rising',
): FileJoin {
  const sign = order === 'rising' ? 1 : -1
  return async function* (files) {
    const readers = files.map((file) => file[Symbol.asyncIterator]())
    const heads = await Promise.all(readers.map((reader) => next(reader, keyOf)))
    try {
      for (;;) {
        const [lead, ...others] = heads
          .flatMap((head, at) => (head ? [{ ...head, at }] : []))
          .sort((a, b) => sign * byKey(a, b))
        if (!lead) return
        let record = lead.cells
        const used = [lead.at]
        for (const other of others) {
          const joined = byKey(lead, other) === 0 ? join(record, other.cells) : null
          if (!joined) break
          record = joined
          used.push(other.at)
        }
        yield record
        for (const at of used) heads[at] = await next(readers[at], keyOf)
      }
    } finally {
      await Promise.all(readers.map((reader) => reader.return?.()))
    }
  }
}

async function next(reader: AsyncIterator<Cells> | undefined, keyOf: (cells: Cells) => Key) {
  const { value, done } = (await reader?.next()) ?? { done: true, value: undefined }
  return done ? null : { cells: value, key: keyOf(value) }
}

function byKey(a: { readonly key: Key }, b: { readonly key: Key }): number {
  for (const [at, one] of a.key.entries()) {
    const other = b.key[at] ?? ''
    if (one !== other) return one < other ? -1 : 1
  }
  return 0
}

/** Joins records by name, in memory, and sorts them. */
export function joinedTable(
  nameOf: (cells: Cells) => string,
  join: (a: Cells, b: Cells) => Cells,
  orderOf: (asked: Asked) => (a: Cells, b: Cells) => number,
): FileJoin {
  return async function* (files, asked) {
    const rows = new Map<string, Cells>()
    for (const file of files)
      for await (const cells of file) {
        const known = rows.get(nameOf(cells))
        rows.set(nameOf(cells), known ? join(known, cells) : cells)
      }
    yield* [...rows.values()].sort(orderOf(asked))
  }
}

/** A record whose cells at these places, amounts in US dollars, are added to those of another. */
export function withAmounts(a: Cells, b: Cells, places: readonly number[]): Cells {
  return a.map((cell, at) => (places.includes(at) ? addedUsd(cell, b[at] ?? '') : cell))
}

export function withCounts(a: Cells, b: Cells, places: readonly number[]): Cells {
  return a.map((cell, at) => (places.includes(at) ? String(Number(cell) + Number(b[at])) : cell))
}

/** Nothing where one of them has nothing: the sum is not known. */
function addedUsd(a: string, b: string): string {
  return a === '' || b === '' ? '' : String(toUsdNumber(micros(microsIn(a) + microsIn(b))))
}

export function microsIn(cell: string): number {
  return Math.round(Number(cell) * 1_000_000)
}

/** The records of a CSV file (RFC 4180). */
export async function* csvRecords(body: AsyncIterable<Uint8Array>): AsyncGenerator<Cells, void> {
  let cells: string[] = []
  let cell = ''
  let isQuoted = false
  let isAfterQuote = false
  for await (const text of texts(body))
    for (const char of text) {
      if (isQuoted) {
        if (char !== '"') cell += char
        else isQuoted = false
        isAfterQuote = char === '"'
      } else if (char === '"') {
        // A doubled quote within quotes is one.
        if (isAfterQuote) cell += char
        isQuoted = true
        isAfterQuote = false
      } else if (char === ',') {
        cells.push(cell)
        cell = ''
        isAfterQuote = false
      } else if (char === '\n') {
        yield [...cells, cell]
        cells = []
        cell = ''
        isAfterQuote = false
      } else if (char !== '\r') cell += char
    }
  if (cells.length > 0 || cell !== '') throw new Error('a file of a cell ended within a line')
}

/** The lines of a file, each one cell. */
export async function* lineRecords(body: AsyncIterable<Uint8Array>): AsyncGenerator<Cells, void> {
  let rest = ''
  for await (const text of texts(body)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield [line]
  }
  if (rest !== '') throw new Error('a file of a cell ended within a line')
}

async function* texts(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true })
}

/** Cells that a cell's file already has made harmless for spreadsheets. */
export function csvText(cells: Cells): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`
}
