import type { Client } from '@libsql/client'
import { anyOf, coverage, type FullTextQuery } from './full-text-query'
import type { DocumentKind } from './index-document'
import { PASSAGES_PER_DOCUMENT } from './index-schema'
import { selectRows } from './select-rows'

/** A passage that answers a query; the higher the score the better, within one search. */
export interface FoundPassage {
  readonly heading: string
  readonly text: string
  readonly score: number
}

/** A document with its passages that answer a query, best first. */
export interface FoundDocument {
  readonly url: string
  readonly title: string
  readonly hostname: string
  readonly siteName: string
  readonly description: string
  /** ISO timestamp. */
  readonly published: string | null
  /** UNIX seconds. */
  readonly fetchedAt: number
  readonly favicon: string
  /** Absolute, or a path of this gateway. */
  readonly thumbnail: string
  /** At least one. */
  readonly passages: readonly FoundPassage[]
}

export interface PassageSearch {
  readonly query: FullTextQuery
  /** Most documents to return. */
  readonly count: number
  readonly includeAdult: boolean
}

/** bm25 weights of title, heading, text and the words that are not shown. */
const WEIGHTS = 'bm25(5.0, 4.0, 1.0, 0.8)'
const MOST_ROWS = 400
/** With fewer documents than this that have every word, those that have some are wanted too. */
const ENOUGH_DOCUMENTS = 5
/** Ranking costs about 1 ms for each thousand passages that match. */
const MOST_PARTIAL_MATCHES = 6000
const PHRASE_BONUS = 1.4
const KIND_WEIGHTS: Readonly<Record<DocumentKind, number>> = {
  readme: 1.05,
  guide: 1.1,
  page: 1.1,
  types: 0.8,
  changelog: 0.5,
}

const SEARCH = `
  SELECT passages.rowid AS id, rank AS score, heading, text, d.title AS title, d.kind AS kind
  FROM passages JOIN documents d ON d.id = passages.rowid / ${PASSAGES_PER_DOCUMENT}
  WHERE passages MATCH ? AND rank MATCH '${WEIGHTS}' AND (? OR d.adult = 0)
  ORDER BY rank LIMIT ${MOST_ROWS}`

/**
 * The documents that answer a query, best first. What has every word comes before what has only some; a document stands
 * as high as its best passage, and a little higher for each more.
 */
export async function searchPassages(client: Client, search: PassageSearch): Promise<FoundDocument[]> {
  const { query } = search
  const together = query.phrase === null ? new Set<number>() : await idsOf(client, query.phrase)
  const whole = grouped(await matching(client, query.all, search), (row) => phraseBonus(row, together))
  const best = whole.slice(0, search.count)
  if (best.length < Math.min(ENOUGH_DOCUMENTS, search.count) && query.terms.length > 1) {
    const taken = new Set(best.map((group) => group.id))
    const telling = anyOf(await rarest(client, query.terms))
    const partial = grouped(await matching(client, telling, search), (row) => partialWeight(row, query.terms))
    best.push(...partial.filter((group) => !taken.has(group.id)).slice(0, search.count - best.length))
  }
  return withDocuments(client, best)
}

interface Group {
  readonly id: number
  readonly passages: FoundPassage[]
}

interface PassageRow {
  readonly id: number
  readonly score: number
  readonly heading: string
  readonly text: string
  readonly title: string
  readonly kind: DocumentKind
}

function matching(client: Client, expression: string, search: PassageSearch): Promise<PassageRow[]> {
  return selectRows(client, SEARCH, [expression, search.includeAdult ? 1 : 0])
}

/** The words few passages have, as many as keep a search short: what every second passage has tells them apart the least. */
async function rarest(client: Client, terms: readonly string[]): Promise<string[]> {
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

async function idsOf(client: Client, expression: string): Promise<ReadonlySet<number>> {
  const sql = 'SELECT rowid AS id FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 1000'
  return new Set((await selectRows<{ readonly id: number }>(client, sql, [expression])).map((row) => row.id))
}

function phraseBonus(row: PassageRow, together: ReadonlySet<number>): number {
  return together.has(row.id) ? PHRASE_BONUS : 1
}

/** One word of many says little: the weight falls with the square of what is missing. */
function partialWeight(row: PassageRow, terms: readonly string[]): number {
  return coverage(terms, `${row.title} ${row.heading} ${row.text}`) ** 2
}

/** Rows by document, documents and passages best first. */
function grouped(rows: readonly PassageRow[], weight: (row: PassageRow) => number): Group[] {
  const groups = new Map<number, Group>()
  for (const row of rows) {
    const id = Math.floor(row.id / PASSAGES_PER_DOCUMENT)
    const group = groups.get(id) ?? { id, passages: [] }
    groups.set(id, group)
    const score = -row.score * weight(row) * KIND_WEIGHTS[row.kind]
    group.passages.push({ heading: row.heading, text: row.text, score })
  }
  for (const group of groups.values()) group.passages.sort((a, b) => b.score - a.score)
  return [...groups.values()].sort((a, b) => standing(b) - standing(a))
}

function standing(group: Group): number {
  const [first, second, third] = group.passages.map((passage) => passage.score)
  return (first ?? 0) + 0.15 * (second ?? 0) + 0.1 * (third ?? 0)
}

interface DocumentRow {
  readonly id: number
  readonly url: string
  readonly title: string
  readonly hostname: string
  readonly site_name: string
  readonly description: string
  readonly published: string | null
  readonly fetched_at: number
  readonly favicon: string
  readonly thumbnail: string
}

async function withDocuments(client: Client, groups: readonly Group[]): Promise<FoundDocument[]> {
  const sql = 'SELECT * FROM documents WHERE id IN (SELECT value FROM json_each(?))'
  const rows = await selectRows<DocumentRow>(client, sql, [JSON.stringify(groups.map((group) => group.id))])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return groups.flatMap(({ id, passages }) => {
    const row = byId.get(id)
    if (!row) return []
    const { url, title, hostname, description, published, favicon, thumbnail } = row
    const names = { siteName: row.site_name, fetchedAt: row.fetched_at }
    return [{ url, title, hostname, description, published, favicon, thumbnail, ...names, passages }]
  })
}
