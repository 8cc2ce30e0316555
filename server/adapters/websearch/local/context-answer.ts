import type { Client } from '@libsql/client'
import type { RuleBooks } from '../goggles/rule-books'
import { absoluteAddress } from './addresses'
import { type FullTextQuery, fullTextQuery } from './full-text-query'
import { snippetOf } from './passages'
import { type FoundDocument, searchPassages } from './search-passages'
import { estimateTokens } from './token-estimate'

/** What of an LLM context call the index answers. */
export interface ContextQuestion {
  readonly q: string
  readonly count: number
  readonly includeAdult: boolean
  readonly withMetadata: boolean
  readonly most: ContextBudget
  /** Texts of goggles that were judged before. */
  readonly goggles: readonly string[]
}

export interface ContextBudget {
  readonly urls: number
  readonly snippets: number
  readonly snippetsPerUrl: number
  readonly tokens: number
  readonly tokensPerUrl: number
}

/** Documents that goggles choose among, where a call considers 50 at most. */
const GOGGLE_CANDIDATES = 200

interface Grounding {
  readonly document: FoundDocument
  readonly snippets: string[]
}

/** The 200 body of an LLM context search, as JSON text (facts/upstreams.md 2.2). */
export async function contextAnswer(
  client: Client,
  question: ContextQuestion,
  baseUrl: string,
  nowMs: number,
  books: RuleBooks,
): Promise<string> {
  const query = fullTextQuery(question.q)
  const found = query === null ? [] : await considered(client, query, question, books)
  const grounding = withinBudget(found, question.most)
  return JSON.stringify({
    query: { original: question.q, spellcheck_off: true },
    grounding: {
      generic: grounding.map(({ document, snippets }) => ({ url: document.url, title: document.title, snippets })),
      poi: null,
      map: [],
    },
    sources: Object.fromEntries(
      grounding.map(({ document }) => [document.url, source(document, question.withMetadata, baseUrl, nowMs)]),
    ),
  })
}

/** The documents that the answer may be made of. Goggles choose among more than are asked for, so that they can bring some up. */
async function considered(
  client: Client,
  query: FullTextQuery,
  { count, includeAdult, goggles }: ContextQuestion,
  books: RuleBooks,
): Promise<FoundDocument[]> {
  if (goggles.length === 0) return searchPassages(client, { query, count, includeAdult })
  const candidates = await searchPassages(client, { query, count: GOGGLE_CANDIDATES, includeAdult })
  const reranked = books.of(goggles).rerank(candidates, ({ url, title, description, passages }) => {
    return { url, title, description, content: passages.map(({ text }) => text).join('\n') }
  })
  return reranked.slice(0, count)
}

/**
 * The snippets that fit, by `estimateTokens`, each page's title counted with them. First each document gives its best, in order of the documents; then the
 * best of the rest follow wherever they stand. What is too long for the room that is left is passed over.
 */
function withinBudget(documents: readonly FoundDocument[], most: ContextBudget): Grounding[] {
  const pages = documents.slice(0, most.urls).map((document) => ({ document, snippets: [] as string[], tokens: 0 })) // empty arrays have no type of their own
  const best = pages.flatMap((page) => page.document.passages.slice(0, 1).map((passage) => ({ page, passage })))
  const rest = pages
    .flatMap((page) => page.document.passages.slice(1).map((passage) => ({ page, passage })))
    .sort((a, b) => b.passage.score - a.passage.score)
  let tokens = 0
  let snippets = 0
  for (const { page, passage } of [...best, ...rest]) {
    if (snippets >= most.snippets) break
    const snippet = snippetOf(passage)
    const title = page.snippets.length === 0 ? estimateTokens(page.document.title) : 0
    const cost = title + estimateTokens(snippet)
    if (page.snippets.length >= most.snippetsPerUrl) continue
    if (tokens + cost > most.tokens || page.tokens + cost > most.tokensPerUrl) continue
    page.snippets.push(snippet)
    page.tokens += cost
    tokens += cost
    snippets += 1
  }
  return pages.filter((page) => page.snippets.length > 0)
}

function source(document: FoundDocument, withMetadata: boolean, baseUrl: string, nowMs: number): object {
  const plain = { title: document.title, hostname: document.hostname, age: age(document.published, nowMs) }
  if (!withMetadata) return plain
  const thumbnail = absoluteAddress(document.thumbnail, baseUrl)
  return {
    ...plain,
    site_name: document.siteName,
    favicon: document.favicon,
    thumbnail: { src: thumbnail, original: thumbnail },
    description: document.description,
    fetched_content_timestamp: document.fetchedAt,
  }
}

/** When a page was published, four ways: long English date, `YYYY-MM-DD`, how long ago, ISO timestamp. Empty if unknown. */
function age(published: string | null, nowMs: number): string[] {
  if (published === null) return []
  const at = new Date(published)
  const long = at.toLocaleDateString('en-US', {
    weekday: 'long',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    timeZone: 'UTC',
  })
  const days = Math.max(0, Math.floor((nowMs - at.getTime()) / 86_400_000))
  const relative = days === 0 ? 'today' : days === 1 ? '1 day ago' : `${days} days ago`
  return [long, published.slice(0, 10), relative, published]
}
