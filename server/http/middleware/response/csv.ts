import type { Page } from '../../../core/page'
import type { RequestContext } from '../request-context'

const CSV_TYPE = 'text/csv; charset=utf-8'

/** Where a formula would begin. Full-width signs begin one in East Asian spreadsheets. */
const FORMULA = /^(?=[=+\-@\t\r\n＝＋－＠])|(?<=[;\t\r\n])(?=[=+\-@＝＋－＠])/g

/** Text without any of these is a cell as it is. */
const SPECIAL = /[=+\-@\t\r\n＝＋－＠",]/

/**
 * A CSV line (RFC 4180). A cell that a spreadsheet would treat as a formula gets a leading quote, because a cell may contain a caller's text.
 * Where the decimal sign is a comma, spreadsheets divide lines at semicolons, and quotes within a line protect nothing.
 */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  if (!SPECIAL.test(value)) return value
  const safe = value.replace(FORMULA, "'")
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The connection of a download: it may be silent while rows are read, and not while it waits for its reader. */
export type Connection = Pick<RequestContext, 'allowSilence' | 'awaitReader'>

type ReadPage<T> = (cursor: string | null) => Promise<Page<T> | null>

/**
 * Takes what a page cost from the window of who downloads it before the next one is read, so that a download that waits holds no rows.
 * The cost of the first page was taken with the request.
 */
export function paced<T>(context: Pick<RequestContext, 'pace'>, page: ReadPage<T>): ReadPage<T> {
  let rows = 0
  return async (cursor) => {
    if (cursor !== null) await context.pace(rows)
    const next = await page(cursor)
    rows = next?.rows.length ?? 0
    return next
  }
}

/** Streams rows as a CSV file to download. `page` returns the page after a cursor; null starts at the beginning. */
export function csvFile<T>(
  connection: Connection,
  name: string,
  head: readonly string[],
  page: ReadPage<T>,
  line: (row: T) => string,
): Response {
  return csvStream(connection, name, head, linesOf(page, line))
}

/** Streams rows as JSON lines: one object a line. */
export function jsonLinesFile<T>(
  connection: Connection,
  name: string,
  page: ReadPage<T>,
  record: (row: T) => object,
): Response {
  const lines = linesOf(page, (row) => `${JSON.stringify(record(row))}\n`)
  return downloadedFile(connection, { name, type: 'application/x-ndjson', head: '' }, lines)
}

export function csvStream(
  connection: Connection,
  name: string,
  head: readonly string[],
  lines: AsyncGenerator<string, void>,
): Response {
  return downloadedFile(connection, { name, type: CSV_TYPE, head: csvLine(head) }, lines)
}

/** The lines of each page together. A page may be empty although more follow. */
async function* linesOf<T>(page: ReadPage<T>, line: (row: T) => string): AsyncGenerator<string, void> {
  let cursor: string | null = null
  do {
    const next: Page<T> | null = await page(cursor)
    const lines = next?.rows.map(line).join('') ?? ''
    if (lines !== '') yield lines
    cursor = next?.next ?? null
  } while (cursor !== null)
}

/** Streams a file as fast as the client reads, so that a long one costs no memory. */
function downloadedFile(
  connection: Connection,
  { name, type, head }: { readonly name: string; readonly type: string; readonly head: string },
  lines: AsyncGenerator<string, void>,
): Response {
  const headers = {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
  }
  return new Response(pulled(connection, lines, head), { headers })
}

/** Streams pieces of text as its reader takes them. If it fails, its chunked body has no end, so that clients know. */
export function pulled(
  connection: Connection,
  lines: AsyncGenerator<string, void>,
  head = '',
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(head)),
    async pull(controller) {
      connection.allowSilence()
      const { value, done } = await lines.next().finally(() => connection.awaitReader())
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await lines.return()
    },
  })
}
