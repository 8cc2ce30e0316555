import type { Client } from '@libsql/client'
import type { Corpus } from '../../passages/passage-score'
import { type Candidate, type CandidatePassage, rankPages } from '../../passages/rank-pages'
import type { PageFacts, RankedPage } from '../../passages/ranked-page'
import { joinedTerms, type SearchTerm, TermFinder } from '../../passages/search-terms'
import type { DocumentKind } from '../build/index-document'
import { PASSAGES_PER_DOCUMENT } from '../index-schema'
import { allOf, anyOf, inTitleOrHeading } from './full-text-query'
import { type DocumentFilter, passageMatches, passagesHaving, rarestTerms, somePassages } from './passage-matches'
import { type Region, regionWeight } from './region-weight'
import { type CallerLocation, documentsNear, termsAtPlace } from './search-places'
import { selectRows } from './select-rows'

export interface PassageSearch {
  readonly terms: readonly SearchTerm[]
  readonly filter: DocumentFilter
  readonly region: Region
  /** The number of documents to rank, more than are returned. */
  readonly documents: number
  /** The number of passages that may be returned. */
  readonly passages: number
}

/** Candidates from the full-text index: enough that one long document that matches everywhere does not fill the list. */
const MAX_PROPOSED = 2000
/** The maximum number of candidates that are scored by their words. */
const MAX_WEIGHED = 320
/** If every word is in more passages than this, the index does not rank them: the first ones found are scored. */
const MAX_RANKED = 10_000
/** If titles and headings match fewer documents than this, the text is searched, too. */
const ENOUGH_DOCUMENTS = 10
/** A preference by kind of document among equally good matches. */
const KIND_WEIGHTS: Readonly<Record<DocumentKind, number>> = {
  readme: 1.05,
  guide: 1,
  page: 1.05,
  changelog: 0.5,
}

/** The documents that answer a query, best first, each with its matching passages. */
export async function searchPassages(client: Client, search: PassageSearch): Promise<RankedPage[]> {
  const { terms } = search
  if (terms.length === 0) return []
  const corpus = await corpusOf(client, terms)
  const joined = joinedTerms(terms)
  const having = await passagesHaving(client, joined)
  const isKnown = (_: unknown, at: number) => (having[at] ?? 0) > 0
  const known = joined.filter(isKnown)
  const whole = { ...search, terms: [...terms, ...known] }
  // A compound counts as often as the more frequent of its two words: a rare spelling does not make the words rare.
  const asParts = joined.map((_, at) => Math.max(corpus.having[at] ?? 0, corpus.having[at + 1] ?? 0)).filter(isKnown)
  const counted = { ...corpus, having: [...corpus.having, ...asParts] }
  return rankedDocuments(client, chosen(await proposed(client, search, corpus, known), search), whole, counted)
}

/**
 * The candidates, best first: passages with any of the rarer words and, if that omits words, those with all words. If every word
 * is common, only passages with all of them, in title or heading if that finds enough: ranking every passage with a common word
 * is slow and gains little.
 */
async function proposed(
  client: Client,
  { terms, filter }: PassageSearch,
  { having }: Corpus,
  joined: readonly SearchTerm[],
): Promise<number[]> {
  const matching = (expression: string) => passageMatches(client, expression, filter, MAX_PROPOSED)
  const rare = rarestTerms(terms, having)
  const all = allOf(terms)
  if (rare.length === 0) {
    const isEverywhere = Math.min(...having) > MAX_RANKED
    const find = (expression: string) =>
      isEverywhere ? somePassages(client, expression, filter, MAX_PROPOSED) : matching(expression)
    const titled = await find(inTitleOrHeading(all))
    return documentsOf(titled) >= ENOUGH_DOCUMENTS ? titled : find(all)
  }
  const withSome = await matching(anyOf([...rare, ...joined]))
  return rare.length === terms.length ? withSome : [...new Set([...(await matching(all)), ...withSome])]
}

function documentsOf(ids: readonly number[]): number {
  return new Set(ids.map((id) => Math.floor(id / PASSAGES_PER_DOCUMENT))).size
}

/** The candidates to score: the best of each document first, so that every document has a chance. */
function chosen(proposed: readonly number[], { documents, passages }: PassageSearch): number[] {
  const taken = new Set<number>()
  const firsts: number[] = []
  const rest: number[] = []
  for (const id of proposed) {
    const document = Math.floor(id / PASSAGES_PER_DOCUMENT)
    if (taken.has(document)) rest.push(id)
    else if (taken.size < documents) firsts.push(id)
    if (taken.size < documents) taken.add(document)
  }
  return [...firsts, ...rest.slice(0, Math.min(passages, MAX_WEIGHED))]
}

/** The documents near a place that have a word of the query, best first. Distance lowers the score. */
export async function searchAtPlace(
  client: Client,
  search: PassageSearch,
  where: CallerLocation,
): Promise<RankedPage[]> {
  const terms = termsAtPlace(search.terms)
  if (terms.length === 0) return []
  const near = new Map((await documentsNear(client, where)).map(({ document, nearness }) => [document, nearness]))
  if (near.size === 0) return []
  const corpus = await corpusOf(client, terms)
  const filter = { ...search.filter, among: [...near.keys()] }
  const ids = await passageMatches(client, anyOf(terms), filter, MAX_PROPOSED)
  return rankedDocuments(client, chosen(ids, search), { ...search, terms }, corpus, near)
}

async function corpusOf(client: Client, terms: readonly SearchTerm[]): Promise<Corpus> {
  const sql = "SELECT key, value FROM meta WHERE key IN ('passages', 'mean_length')"
  const rows = await selectRows<{ readonly key: string; readonly value: string }>(client, sql, [])
  const meta = new Map(rows.map((row) => [row.key, Number(row.value)]))
  return {
    passages: meta.get('passages') ?? 0,
    meanLength: meta.get('mean_length') ?? 1,
    having: await passagesHaving(client, terms),
  }
}

interface PassageRow {
  readonly id: number
  readonly heading: string
  readonly text: string
  readonly words: string
  readonly tokens: number
}

interface DocumentRow {
  readonly id: number
  readonly url: string
  readonly title: string
  readonly title_tokens: number
  readonly hostname: string
  readonly site_name: string
  readonly description: string
  readonly kind: DocumentKind
  readonly published: string | null
  readonly fetched_at: number
  readonly lang: string
  readonly country: string | null
  readonly favicon: string
  readonly thumbnail: string
  readonly place_name: string | null
}

/** Loads passages and their documents, and ranks them. */
async function rankedDocuments(
  client: Client,
  passageIds: readonly number[],
  { terms, region }: PassageSearch,
  corpus: Corpus,
  near?: ReadonlyMap<number, number>,
): Promise<RankedPage[]> {
  const passages = await rowsById<PassageRow>(
    client,
    'SELECT rowid AS id, heading, text, words, tokens FROM passages WHERE rowid IN (SELECT value FROM json_each(?))',
    passageIds,
  )
  const documents = await rowsById<DocumentRow>(
    client,
    `SELECT d.*, p.name AS place_name FROM documents d LEFT JOIN places p ON p.document = d.id
     WHERE id IN (SELECT value FROM json_each(?))`,
    [...new Set(passageIds.map((id) => Math.floor(id / PASSAGES_PER_DOCUMENT)))],
  )
  const found = new Map<number, CandidatePassage[]>()
  for (const { id, heading, text, words, tokens } of passages.values()) {
    const owner = Math.floor(id / PASSAGES_PER_DOCUMENT)
    const passage = { heading, text, tokens, hidden: words, isFirst: id % PASSAGES_PER_DOCUMENT === 0 }
    const others = found.get(owner)
    if (others) others.push(passage)
    else found.set(owner, [passage])
  }
  const candidates = [...found].flatMap(([id, passages]): Candidate[] => {
    const row = documents.get(id)
    if (!row) return []
    const weight = KIND_WEIGHTS[row.kind] * regionWeight(row, region) * (near?.get(id) ?? 1)
    return [{ facts: factsOf(row), weight, passages }]
  })
  return rankPages(new TermFinder(terms), corpus, candidates)
}

function factsOf(row: DocumentRow): PageFacts {
  const { url, title, hostname, description, published, favicon, thumbnail } = row
  return {
    url,
    title,
    titleTokens: row.title_tokens,
    hostname,
    siteName: row.site_name,
    description,
    published,
    fetchedAt: row.fetched_at,
    favicon,
    thumbnail,
    ...(row.place_name !== null && { placeName: row.place_name }),
  }
}

async function rowsById<T extends { readonly id: number }>(
  client: Client,
  sql: string,
  ids: readonly number[],
): Promise<Map<number, T>> {
  const rows = await selectRows<T>(client, sql, [JSON.stringify(ids)])
  return new Map(rows.map((row) => [row.id, row]))
}
