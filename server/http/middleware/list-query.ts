import { type Parameters, type ParameterTable, parseParameters } from '../../core/catalog/parameters'
import { wrongParameters } from '../../core/failure'
import { Failed } from './failures'
import type { RequestContext } from './request-context'

/** The query of every list: 1 to 200 rows a page, 50 by default (spec-answers 3). */
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
