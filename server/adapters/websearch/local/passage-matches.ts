import type { Client } from '@libsql/client'
import { anyOf } from './full-text-query'
import type { DocumentKind } from './index-document'
import { PASSAGES_PER_DOCUMENT } from './index-schema'
import { selectRows } from './select-rows'

/** A passage by its rowid. The higher the score the better. */
export interface PassageMatch {
  readonly id: number
  readonly score: number
  readonly kind: DocumentKind
}

/** bm25 weights of title, heading, text and the words that are not shown. */
const WEIGHTS = 'bm25(5.0, 4.0, 1.0, 0.8)'
/** Enough that a long document, all of whose passages match, does not take every place. */
const MOST_MATCHES = 2000
/** Ranking costs about 1 ms for each thousand passages that match. */
const MOST_PARTIAL_MATCHES = 4000

/** As three lists in one row: the driver takes longer over thousands of rows than the search takes. */
const MATCHES = `
  SELECT json_group_array(id) AS ids, json_group_array(score) AS scores, json_group_array(kind) AS kinds FROM (
    SELECT passages.rowid AS id, rank AS score, d.kind AS kind
    FROM passages JOIN documents d ON d.id = passages.rowid / ${PASSAGES_PER_DOCUMENT}
    WHERE passages MATCH ? AND rank MATCH '${WEIGHTS}' AND (? OR d.adult = 0)
    ORDER BY rank LIMIT ${MOST_MATCHES})`

/** The passages an expression matches, best first. */
export async function passageMatches(
  client: Client,
  expression: string,
  includeAdult: boolean,
): Promise<PassageMatch[]> {
  const [row] = await selectRows<{ ids: string; scores: string; kinds: string }>(client, MATCHES, [
    expression,
    includeAdult ? 1 : 0,
  ])
  if (!row) return []
  const scores = numbers(row.scores)
  const kinds = JSON.parse(row.kinds) as DocumentKind[] // written by this builder alone
  return numbers(row.ids).map((id, at) => ({ id, score: -(scores[at] ?? 0), kind: kinds[at] ?? 'page' }))
}

/** The rowids of all passages an expression matches. */
export async function passageIds(client: Client, expression: string): Promise<ReadonlySet<number>> {
  const sql = 'SELECT json_group_array(rowid) AS ids FROM passages WHERE passages MATCH ?'
  const [row] = await selectRows<{ readonly ids: string }>(client, sql, [expression])
  return new Set(numbers(row?.ids ?? '[]'))
}

/** The words few passages have, as many as keep a search short: what every second passage has tells them apart the least. */
export async function rarestTerms(client: Client, terms: readonly string[]): Promise<string[]> {
  const sql = 'SELECT count(*) AS passages FROM passages WHERE passages MATCH ?'
  const counted: { term: string; passages: number }[] = []
  for (const term of terms) {
    const [row] = await selectRows<{ readonly passages: number }>(client, sql, [anyOf([term])])
    if (row && row.passages > 0) counted.push({ term, passages: row.passages })
  }
  counted.sort((a, b) => a.passages - b.passages)
  const chosen: string[] = []
  let matches = 0
  for (const { term, passages } of counted) {
    matches += passages
    if (matches > MOST_PARTIAL_MATCHES && chosen.length >= 2) break
    chosen.push(term)
  }
  return chosen
}

function numbers(json: string): number[] {
  return JSON.parse(json) as number[] // SQL made it from a numeric column
}
