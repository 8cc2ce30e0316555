import type { Client } from '@libsql/client'
import { anyOf, type FullTextQuery } from './full-text-query'
import type { DocumentKind } from './index-document'
import { PASSAGES_PER_DOCUMENT } from './index-schema'
import { type PassageMatch, passageIds, passageMatches, rarestTerms } from './passage-matches'
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

/** Texts loaded for one search: more than the largest budget of snippets has room for. */
const MOST_LOADED = 400
/** With fewer documents than this that have every word, those that have some are wanted too. */
const ENOUGH_DOCUMENTS = 5
const PHRASE_BONUS = 1.4
const KIND_WEIGHTS: Readonly<Record<DocumentKind, number>> = {
  readme: 1.05,
  guide: 1.1,
  page: 1.1,
  types: 0.8,
  changelog: 0.5,
}

/**
 * The documents that answer a query, best first. What has every word comes before what has only some; a document stands
 * as high as its best passage, and a little higher for each more.
 */
export async function searchPassages(client: Client, search: PassageSearch): Promise<FoundDocument[]> {
  const { query, count } = search
  const best = (await withEveryWord(client, search)).slice(0, count)
  if (best.length < Math.min(ENOUGH_DOCUMENTS, count) && query.terms.length > 1) {
    const taken = new Set(best.map((group) => group.id))
    const some = (await withSomeWords(client, search)).filter((group) => !taken.has(group.id))
    best.push(...some.slice(0, count - best.length))
  }
  return withDocuments(client, best, await textsOf(client, best))
}

/** A document and its matches, best first. */
interface Group {
  readonly id: number
  readonly matches: { readonly id: number; readonly score: number }[]
}

async function withEveryWord(client: Client, { query, includeAdult }: PassageSearch): Promise<Group[]> {
  const together = query.phrase === null ? new Set<number>() : await passageIds(client, query.phrase)
  const matches = await passageMatches(client, query.all, includeAdult)
  return grouped(matches, ({ id }) => (together.has(id) ? PHRASE_BONUS : 1))
}

/** One word of many says little: the weight falls with the square of the part of the words that is missing. */
async function withSomeWords(client: Client, { query, includeAdult }: PassageSearch): Promise<Group[]> {
  const terms = await rarestTerms(client, query.terms)
  const having = await Promise.all(terms.map((term) => passageIds(client, anyOf([term]))))
  const matches = await passageMatches(client, anyOf(terms), includeAdult)
  return grouped(matches, ({ id }) => (having.filter((ids) => ids.has(id)).length / terms.length) ** 2)
}

function grouped(matches: readonly PassageMatch[], weight: (match: PassageMatch) => number): Group[] {
  const groups = new Map<number, Group>()
  for (const match of matches) {
    const id = Math.floor(match.id / PASSAGES_PER_DOCUMENT)
    const group = groups.get(id) ?? { id, matches: [] }
    groups.set(id, group)
    group.matches.push({ id: match.id, score: match.score * weight(match) * KIND_WEIGHTS[match.kind] })
  }
  for (const group of groups.values()) group.matches.sort((a, b) => b.score - a.score)
  return [...groups.values()].sort((a, b) => standing(b) - standing(a))
}

function standing(group: Group): number {
  const [first, second, third] = group.matches.map((match) => match.score)
  return (first ?? 0) + 0.15 * (second ?? 0) + 0.1 * (third ?? 0)
}

type Texts = ReadonlyMap<number, { readonly heading: string; readonly text: string }>

/** The words of the first match of every document, and of the best of the others. */
async function textsOf(client: Client, groups: readonly Group[]): Promise<Texts> {
  const firsts = groups.flatMap((group) => group.matches.slice(0, 1))
  const others = groups.flatMap((group) => group.matches.slice(1)).sort((a, b) => b.score - a.score)
  const ids = [...firsts, ...others].slice(0, MOST_LOADED).map((match) => match.id)
  const sql = 'SELECT rowid AS id, heading, text FROM passages WHERE rowid IN (SELECT value FROM json_each(?))'
  const rows = await selectRows<{ id: number; heading: string; text: string }>(client, sql, [JSON.stringify(ids)])
  return new Map(rows.map((row) => [row.id, row]))
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

async function withDocuments(client: Client, groups: readonly Group[], texts: Texts): Promise<FoundDocument[]> {
  const sql = 'SELECT * FROM documents WHERE id IN (SELECT value FROM json_each(?))'
  const rows = await selectRows<DocumentRow>(client, sql, [JSON.stringify(groups.map((group) => group.id))])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return groups.flatMap(({ id, matches }) => {
    const row = byId.get(id)
    if (!row) return []
    const { url, title, hostname, description, published, favicon, thumbnail } = row
    const passages = matches.flatMap((match) => {
      const found = texts.get(match.id)
      return found ? [{ heading: found.heading, text: found.text, score: match.score }] : []
    })
    const names = { siteName: row.site_name, fetchedAt: row.fetched_at }
    return [{ url, title, hostname, description, published, favicon, thumbnail, ...names, passages }]
  })
}
