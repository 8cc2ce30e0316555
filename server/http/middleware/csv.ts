import type { Page } from '../../core/page'

const CSV_TYPE = 'text/csv; charset=utf-8'

/**
 * A CSV line (RFC 4180). A cell that a spreadsheet would treat as a formula gets a leading quote, because it may contain what
 * a caller sent. Full-width signs begin a formula in East Asian spreadsheets.
 */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

type ReadPage<T> = (cursor: string | null) => Promise<Page<T> | null>

/** Streams rows as a CSV file to download. `page` returns the page after a cursor; null starts at the beginning. */
export function csvFile<T>(
  name: string,
  head: readonly string[],
  page: ReadPage<T>,
  line: (row: T) => string,
): Response {
  return downloadedFile({ name, type: CSV_TYPE, head: csvLine(head) }, page, line)
}

/** Streams rows as JSON lines: one object a line. */
export function jsonLinesFile<T>(name: string, page: ReadPage<T>, record: (row: T) => object): Response {
  return downloadedFile(
    { name, type: 'application/x-ndjson', head: '' },
    page,
    (row) => `${JSON.stringify(record(row))}\n`,
  )
}

/** Streams lines as a CSV file to download, as fast as the client reads. */
export function csvStream(name: string, head: readonly string[], lines: AsyncGenerator<string, void>): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(csvLine(head))),
    async pull(controller) {
      const { value, done } = await lines.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await lines.return()
    },
  })
  return new Response(body, { headers: fileHeaders(name, CSV_TYPE) })
}

/** Streams a file page by page as the client reads, so that a long one costs no memory. */
function downloadedFile<T>(
  { name, type, head }: { readonly name: string; readonly type: string; readonly head: string },
  page: ReadPage<T>,
  line: (row: T) => string,
): Response {
  const encoder = new TextEncoder()
  let cursor: string | null = null
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(head)),
    async pull(controller) {
      let lines = ''
      // A page may be empty although more follow, and a pull that enqueues nothing is not repeated.
      do {
        const next: Page<T> | null = await page(cursor)
        lines = next?.rows.map(line).join('') ?? ''
        cursor = next?.next ?? null
      } while (lines === '' && cursor !== null)
      if (lines !== '') controller.enqueue(encoder.encode(lines))
      if (cursor === null) controller.close()
    },
  })
  return new Response(body, { headers: fileHeaders(name, type) })
}

function fileHeaders(name: string, type: string): Record<string, string> {
  return {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
  }
}
