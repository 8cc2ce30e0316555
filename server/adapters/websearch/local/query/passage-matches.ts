import type { Client } from '@libsql/client'
import type { SearchTerm } from '../../passages/search-terms'
import { PASSAGES_PER_DOCUMENT } from '../index-schema'
import { selectRows } from './select-rows'

/** The filters of a search. */
export interface DocumentFilter {
  /** 0 none, 1 adult themes, 2 explicit. */
  readonly maxAdult: number
  /** ISO timestamps, from inclusive, to exclusive. Excludes documents without a date. Null means any date. */
  readonly published: { readonly from: string; readonly before: string } | null
  /** The ids of the documents to search; all if absent. */
  readonly among?: readonly number[]
}

/** bm25 weights of title, heading, text and hidden keywords. */
const WEIGHTS = 'bm25(3.5, 1.5, 1.0, 2.5)'
/** Ranking costs about 1 ms per 1,000 matching passages. */
const MAX_PARTIAL_MATCHES = 3000

const WHERE = `
  FROM passages JOIN documents d ON d.id = passages.rowid / ${PASSAGES_PER_DOCUMENT}
  WHERE passages MATCH ? AND d.adult <= ? AND (? = '' OR (d.published >= ? AND d.published < ?))
    AND (? = '' OR d.id IN (SELECT value FROM json_each(?)))`
/** One list in one row, because reading hundreds of rows takes the driver longer than the search itself. */
const RANKED = `SELECT json_group_array(id) AS ids FROM
  (SELECT passages.rowid AS id ${WHERE} AND rank MATCH '${WEIGHTS}' ORDER BY rank LIMIT ?)`
const FIRST = `SELECT json_group_array(id) AS ids FROM (SELECT passages.rowid AS id ${WHERE} LIMIT ?)`

/** The rowids of at most `max` passages that match an expression, best first. */
export function passageMatches(
  client: Client,
  expression: string,
  filter: DocumentFilter,
  max: number,
): Promise<number[]> {
  return matches(client, RANKED, expression, filter, max)
}

/** The rowids of the first `max` passages found that match an expression, without ranking. */
export function somePassages(
  client: Client,
  expression: string,
  filter: DocumentFilter,
  max: number,
): Promise<number[]> {
  return matches(client, FIRST, expression, filter, max)
}

async function matches(
  client: Client,
  sql: string,
  expression: string,
  { maxAdult, published, among }: DocumentFilter,
  max: number,
): Promise<number[]> {
  const { from, before } = published ?? { from: '', before: '' }
  const ids = among ? JSON.stringify(among) : ''
  const args = [expression, maxAdult, from, from, before, ids, ids || '[]', max]
  const [row] = await selectRows<{ readonly ids: string }>(client, sql, args)
  return JSON.parse(row?.ids ?? '[]') as number[] // the SQL builds it from a numeric column
}

/** The number of passages with each term, in the order of the terms. */
export async function passagesHaving(client: Client, terms: readonly SearchTerm[]): Promise<number[]> {
  const sql = 'SELECT stem, passages FROM stems WHERE stem IN (SELECT value FROM json_each(?))'
  const stems = JSON.stringify(terms.map((term) => term.stem))
  const rows = await selectRows<{ readonly stem: string; readonly passages: number }>(client, sql, [stems])
  const counts = new Map(rows.map((row) => [row.stem, row.passages]))
  return terms.map((term) => counts.get(term.stem) ?? 0)
}

/**
 * The rarest words, as many as keep a search fast: a word in every second passage hardly distinguishes passages. Empty if all
 * words are common.
 */
export function rarestTerms(terms: readonly SearchTerm[], having: readonly number[]): SearchTerm[] {
  const counted = terms.map((term, at) => ({ term, passages: having[at] ?? 0 })).sort((a, b) => a.passages - b.passages)
  let matches = 0
  return counted.flatMap(({ term, passages }) => {
    matches += passages
    return matches > MAX_PARTIAL_MATCHES ? [] : [term]
  })
}
