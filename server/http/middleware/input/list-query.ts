import { type Parameters, type ParameterTable, parseParameters } from '../../../core/catalog/parameters'
import { wrongParameters } from '../../../core/failure'
import { type Page, pageOf } from '../../../core/page'
import type { RequestContext } from '../request-context'
import { Failed } from '../response/failures'

/** The query of every list: 1 to 200 rows a page, 50 by default (spec D3). */
export const PAGE_QUERY = {
  limit: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 200,
    default: 50,
    description: 'Maximum number of rows per page.',
  },
  cursor: { in: 'query', kind: 'text', min: 1, max: 200, description: '`next_cursor` of the previous page.' },
} as const satisfies ParameterTable

/** The query of a list with a row per key, of which an account may have thousands. */
export const KEY_ROWS_QUERY = {
  ...PAGE_QUERY,
  q: { in: 'query', kind: 'text', min: 1, max: 64, description: 'Only keys whose name contains this text.' },
  key: { in: 'query', kind: 'text', min: 1, max: 64, description: 'Only the key with this id.' },
} as const satisfies ParameterTable

/** The rows that a query asks for, of all keys of an account in their order, and the cursor of the next page. */
export function keyRowsPage<Row extends { readonly id: string; readonly name: string }>(
  keys: readonly Row[],
  { limit, cursor, q = '', key }: Parameters<typeof KEY_ROWS_QUERY>,
): Page<Row> {
  const text = q.toLowerCase()
  const found = keys.filter(({ id, name }) => (key === undefined || id === key) && name.toLowerCase().includes(text))
  const start = cursor === undefined ? 0 : found.findIndex(({ id }) => id === cursor) + 1
  if (cursor !== undefined && start === 0) throw refuseCursor(cursor)
  return pageOf(found.slice(start, start + limit + 1), limit)
}

/** Parses the query of a route that has no other input. Throws one failure that lists every invalid parameter. */
export function queryOf<T extends ParameterTable>(table: T, { url }: Pick<RequestContext, 'url'>): Parameters<T> {
  const query = url.searchParams
  const parsed = parseParameters(table, { query: (name) => query.getAll(name), header: () => null })
  if (!parsed.ok) throw new Failed(wrongParameters(parsed.error))
  return parsed.value
}

export function refuseCursor(cursor: string): Failed {
  const rule = 'must be the next_cursor of the previous page'
  return new Failed(
    wrongParameters([
      { param: 'cursor', in: 'query', code: 'invalid_parameter', rule, received: cursor.slice(0, 100) },
    ]),
  )
}
