import type { Page } from '../../core/page'

/**
 * A CSV line (RFC 4180). A cell that a spreadsheet would treat as a formula gets a leading quote, because it may contain what
 * a caller sent.
 */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/**
 * Streams rows as a file to download, page by page as the client reads, so that a long file costs no memory. `page` returns the
 * page after a cursor; null starts at the beginning.
 */
export function csvFile<T>(
  name: string,
  head: readonly string[],
  page: (cursor: string | null) => Promise<Page<T> | null>,
  line: (row: T) => string,
): Response {
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
  }
  const encoder = new TextEncoder()
  let cursor: string | null = null
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(csvLine(head))),
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
  return new Response(body, { headers })
}
