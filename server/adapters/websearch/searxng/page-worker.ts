import type { RuleSet } from '../../../core/goggles/rule-set'
import { err, ok, type Result, reasonOf } from '../../../core/result'
import { RuleBooks } from '../goggles/rule-books'
import { contextBody } from '../passages/context-body'
import { withinBudget } from '../passages/context-budget'
import { parseMarkdown } from '../passages/markdown-sections'
import { pageContent } from '../passages/page-content'
import { passagesOf } from '../passages/passages'
import { type CutPage, rankFetched } from '../passages/rank-pages'
import type { RankedPage } from '../passages/ranked-page'
import { aboveThreshold } from '../passages/relevance-floor'
import { countTokens } from '../passages/token-count'
import type { AnswerTask, FoundPage, FromPageThread, OrderTask, ReadPage, ToPageThread } from './page-wire'

/** The 200 body of an LLM context search over fetched pages as JSON, or the rule that its goggles (`rules`) break. */
function contextFromPages(task: AnswerTask, rules: RuleSet): Result<string, string> {
  const { altered, withMetadata, apiVersion, baseUrl, nowMs } = task
  const ranked = ranking(altered ?? task.q, task.pages)
  const chosen = task.goggles.length === 0 ? ok(ranked) : rules.rerank(ranked, subjectOf)
  if (!chosen.ok) return err(chosen.error)
  const considered = aboveThreshold(chosen.value.slice(0, task.count), task.threshold)
  const body = contextBody({
    query: { original: task.q, spellcheckOff: !task.spellcheck, ...(altered !== null && { altered }) },
    generic: withinBudget(considered, task.budget),
    places: [],
    withMetadata,
    apiVersion,
    baseUrl,
    nowMs,
  })
  return ok(body)
}

function subjectOf({ url, title, description, passages }: RankedPage) {
  return { url, title, description, content: passages.map(({ text }) => text).join('\n') }
}

/** If no page has a word of the query, as in scripts without spaces, the engines' own order is kept. */
function ranking(q: string, pages: readonly CutPage[]): RankedPage[] {
  const ranked = rankFetched(q, pages)
  if (ranked.length > 0) return ranked
  return pages.flatMap(({ passages, prior, ...facts }): RankedPage[] => {
    const scored = passages.map((passage, at) => ({
      ...passage,
      score: prior / (at + 1),
      coverage: 1,
      isFirst: at === 0,
    }))
    return scored.length === 0 ? [] : [{ ...facts, passages: scored, score: prior }]
  })
}

/** The maximum size of a page that is read, because the time grows with it. */
const MAX_CHARACTERS = 1_000_000
/** The maximum number of passages per page. No page budget has room for more. */
const MAX_MARKDOWN_CHARACTERS = 400_000

/** Splits a page into passages. Slow on long text: run it on a supervised thread. */
function readPage(found: FoundPage): ReadPage {
  const { url, excerpt, prior, fetchedAt, fetched } = found
  const text = fetched ? decoded(fetched.bytes, fetched.charset).slice(0, MAX_CHARACTERS) : excerpt
  const content = fetched?.isHtml ? pageContent(text, url) : null
  const markdown = (content?.markdown ?? text).slice(0, MAX_MARKDOWN_CHARACTERS)
  const { sections } = parseMarkdown(markdown.trim() === '' ? excerpt : markdown)
  const { hostname } = new URL(url)
  const title = content?.title || found.title || hostname
  return {
    adult: content?.adult ?? 0,
    page: {
      url,
      title,
      titleTokens: countTokens(title),
      hostname,
      siteName: content?.siteName ?? hostname.replace(/^www\./, ''),
      description: content?.description ?? excerpt,
      published: content?.published ?? found.published,
      fetchedAt,
      favicon: content?.favicon ?? null,
      thumbnail: content?.picture ?? (found.thumbnail === '' ? null : found.thumbnail),
      passages: passagesOf(sections),
      prior,
    },
  }
}

/** The encoding according to the server, else the page, else UTF-8. */
function decoded(bytes: Uint8Array, charset: string | null): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 2048))
  const named = charset ?? /<meta[^>]{1,200}?charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1] ?? 'utf-8'
  return decoder(named).decode(bytes)
}

function decoder(name: string): { decode(bytes: Uint8Array): string } {
  try {
    return new TextDecoder(name as ConstructorParameters<typeof TextDecoder>[0]) // throws for unknown encodings
  } catch {
    return new TextDecoder()
  }
}

/** The thread that reads untrusted pages. If a page hangs it, the thread is killed and nothing else stops. */
declare const self: Worker

const books = new RuleBooks()

self.onmessage = ({ data: { id, task } }: MessageEvent<ToPageThread>) => {
  try {
    if ('read' in task) return tell({ id, page: readPage(task.read) })
    const { goggles } = 'order' in task ? task.order : task.answer
    const rules = books.of(goggles)
    if (!rules.ok) return tell({ id, goggles: rules.error })
    if (rules.value === null) return tell({ id, unbuilt: true })
    if ('order' in task) {
      const order = newOrder(task.order, rules.value)
      return tell(order.ok ? { id, order: order.value } : { id, goggles: order.error })
    }
    const answer = contextFromPages(task.answer, rules.value)
    tell(answer.ok ? { id, body: answer.value } : { id, goggles: answer.error })
  } catch (problem) {
    tell({ id, problem: reasonOf(problem) })
  }
}

/** As it was, where goggles want to see the pages first. */
function newOrder({ subjects }: OrderTask, rules: RuleSet): Result<readonly number[], string> {
  const indexed = subjects.map((subject, index) => ({ ...subject, index }))
  const ordered = rules.looksAtContent ? ok(indexed) : rules.rerank(indexed, (subject) => subject)
  return ordered.ok ? ok(ordered.value.map(({ index }) => index)) : ordered
}

// Load the vocabulary before the first page is timed.
countTokens('ready')
tell({ ready: true })

function tell(message: FromPageThread): void {
  self.postMessage(message)
}
