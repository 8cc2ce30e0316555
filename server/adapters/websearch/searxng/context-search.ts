import { type FreshnessWindow, isRange } from '../../../core/catalog/freshness'
import type { LlmContextInput } from '../../../core/catalog/llm-context'
import type { Clock } from '../../../core/clock'
import type { OutboundFetch } from '../../../core/outbound/outbound-fetch'
import type { CallOrigin, ProviderAnswer, UpstreamFailure } from '../../../core/providers/provider'
import { ok, type Result } from '../../../core/result'
import { contextSearchOptions } from '../context-search-options'
import { BuildAllowance } from '../goggles/build-allowance'
import type { PublishedGoggles } from '../goggles/published-goggles'
import type { GoggleText } from '../goggles/rule-books'
import type { PageReader } from './page-reader'
import type { AnswerTask, FoundPage, ReadPage } from './page-wire'
import type { RobotsRules } from './robots-rules'
import type { SearxngClient, SearxngQuestion, SearxngResult, SearxngSearch } from './searxng-client'
import { searchableWords, searxngLanguage, searxngSafesearch, searxngTimeRange } from './searxng-query'
import { searxngSearch, unasked } from './searxng-search'

export interface SearxngContextOptions {
  readonly client: SearxngClient
  /** Fetches the pages that were found, whose URLs are untrusted. */
  readonly fetchPage: OutboundFetch
  readonly robots: RobotsRules
  readonly pageReader: PageReader
  readonly goggles: PublishedGoggles
  readonly clock: Clock
  readonly baseUrl: string
  /** Timeout of a whole call. */
  readonly budgetMs: number
  /** Engines to use for `strict` searches. If empty, SearXNG chooses. */
  readonly strictEngines: readonly string[]
}

type Answer = Result<ProviderAnswer, UpstreamFailure>

const MAX_RESULT_PAGES = 3
/** Pages fetched per call; the rest use the engine's excerpt. */
const MAX_FETCHED = 20
/** Pages fetched in addition to those requested, because some are irrelevant. */
const SPARE_PAGES = 5
/** Shares of the time budget for the search and for building the answer. */
const SEARCH_SHARE = 0.5
const ANSWER_SHARE = 0.15

/** LLM context over what SearXNG finds: the pages themselves are fetched, cut into passages and ranked. */
export class ContextSearch {
  private readonly options: SearxngContextOptions
  private readonly buildAllowance: BuildAllowance

  constructor(options: SearxngContextOptions) {
    this.options = options
    this.buildAllowance = new BuildAllowance(options.clock)
  }

  async answer(input: LlmContextInput, signal: AbortSignal, origin: CallOrigin): Promise<Answer> {
    const { caller } = origin
    const { client, pageReader, goggles, budgetMs } = this.options
    const end = performance.now() + budgetMs
    pageReader.warm()
    const texts = await goggles.texts(input.goggles ?? [], caller, signal)
    if (!texts.ok) return texts
    const question = this.question(input, origin)
    const searxngOptions = {
      question,
      spellcheck: input.spellcheck,
      count: input.count,
      maxPages: MAX_RESULT_PAGES,
      sameness: ({ url }: SearxngResult) => url.split('#')[0] ?? '',
      timeoutMs: Math.floor(budgetMs * SEARCH_SHARE),
    }
    const search = await searxngSearch(client, searxngOptions, signal)
    if (!search.ok) return search
    if (search.value.results.length === 0) {
      const left = Math.max(1, Math.floor(end - performance.now()))
      const problem = await unasked(client, question, left, this.options.clock.now())
      if (problem) return problem
    }
    const ordered = await this.ordered(search.value.results, texts.value, caller, signal)
    if (!ordered.ok) return ordered
    const found = this.candidates(ordered.value, texts.value.length > 0 ? ordered.value.length : input.count)
    const pages = await this.read(found, input, end - budgetMs * ANSWER_SHARE, signal)
    const task = this.task(input, search.value, texts.value, pages)
    const body = await this.buildAllowance.untilBuilt(caller, () => pageReader.answer(task, signal))
    return body.ok ? ok({ body: body.value }) : body
  }

  private question(input: LlmContextInput, { traceparent }: CallOrigin): SearxngQuestion {
    const { strictEngines, clock } = this.options
    return {
      words: searchableWords(input.q),
      category: 'general',
      language: searxngLanguage(input.search_lang, input.country),
      safesearch: searxngSafesearch(input.safesearch),
      timeRange: searxngTimeRange(input.freshness, clock.now()),
      engines: input.safesearch === 'strict' ? strictEngines : [],
      traceparent,
    }
  }

  /** The results in the order in which to fetch pages. Goggles apply here already, unless they need the pages' content. */
  private async ordered(
    results: readonly SearxngResult[],
    goggles: readonly GoggleText[],
    caller: string,
    signal: AbortSignal,
  ): Promise<Result<readonly SearxngResult[], UpstreamFailure>> {
    if (goggles.length === 0) return ok(results)
    const task = { goggles, subjects: results.map(subjectOf) }
    const order = await this.buildAllowance.untilBuilt(caller, () => this.options.pageReader.order(task, signal))
    return order.ok ? ok(order.value.flatMap((index) => results[index] ?? [])) : order
  }

  private candidates(results: readonly SearxngResult[], max: number): FoundPage[] {
    const fetchedAt = Math.floor(this.options.clock.now() / 1000)
    return results.slice(0, max).map(({ url, title, content, published, thumbnail }, at) => {
      const prior = 1 - at / Math.max(1, results.length)
      return { url, title, excerpt: content, published, thumbnail, fetchedAt, prior, fetched: null }
    })
  }

  /** Splits the pages into passages, by `end` at the latest. Pages that have not arrived by then use the engine's excerpt. */
  private async read(found: readonly FoundPage[], input: LlmContextInput, end: number, signal: AbortSignal) {
    const { fetchPage, robots, pageReader } = this.options
    const max = Math.min(MAX_FETCHED, input.maximum_number_of_urls + SPARE_PAGES)
    const soon = AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, Math.floor(end - performance.now())))])
    const reading: Promise<ReadPage | null>[] = []
    const take = (page: FoundPage) => {
      const { fetched } = page
      const excerpt = () => pageReader.read({ ...page, fetched: null }, signal)
      reading.push(fetched ? pageReader.read(page, soon).then((read) => read ?? excerpt()) : excerpt())
    }
    await fetchPages(found.slice(0, max), fetchPage, robots, soon, take)
    for (const page of found.slice(max)) if (page.excerpt !== '') take(page)
    const read = await Promise.all(reading)
    const { maxAdult, published } = contextSearchOptions(input, this.options.clock.now())
    return read.filter(
      (one) => one !== null && one.adult <= maxAdult && isWithin(one.page.published, published, input.freshness),
    )
  }

  private task(
    input: LlmContextInput,
    { altered }: SearxngSearch,
    goggles: readonly GoggleText[],
    pages: readonly (ReadPage | null)[],
  ): AnswerTask {
    const nowMs = this.options.clock.now()
    const { threshold, budget } = contextSearchOptions(input, nowMs)
    return {
      q: input.q,
      altered,
      spellcheck: input.spellcheck,
      pages: pages.flatMap((read) => (read ? [read.page] : [])),
      goggles,
      threshold,
      count: input.count,
      budget,
      withMetadata: input.enable_source_metadata,
      apiVersion: input['api-version'],
      baseUrl: this.options.baseUrl,
      nowMs,
    }
  }
}

function subjectOf({ url, title, content }: SearxngResult) {
  return { url, title, description: content, content }
}

/** Whether a date fits. Pages without one fit, because the engines filter by age, but not for a range, which engines do not support. */
function isWithin(date: string | null, window: FreshnessWindow | null, freshness = ''): boolean {
  if (window === null) return true
  return date === null ? !isRange(freshness) : date >= window.from && date < window.before
}

/** Concurrent page fetches per call. */
const AT_ONCE = 8
const MAX_BYTES = 2 * 1024 * 1024
const MAX_REDIRECTS = 4
const PAGE_TIMEOUT_MS = 3_000
const HTML = ['text/html', 'application/xhtml+xml']
const TEXT = ['text/plain', 'text/markdown']

/**
 * Calls `onPage` for each page as it arrives, with its bytes, or without if it must not or cannot be fetched. Ends with the last page,
 * or when `signal` aborts.
 */
async function fetchPages(
  pages: readonly FoundPage[],
  fetch: OutboundFetch,
  robots: RobotsRules,
  signal: AbortSignal,
  onPage: (page: FoundPage) => void,
): Promise<void> {
  const queue = [...pages]
  const work = async () => {
    for (let page = queue.shift(); page; page = queue.shift()) onPage(await fetchPage(page, fetch, robots, signal))
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, pages.length) }, work))
}

async function fetchPage(
  page: FoundPage,
  fetch: OutboundFetch,
  robots: RobotsRules,
  signal: AbortSignal,
): Promise<FoundPage> {
  const fetched = await fetch({
    url: page.url,
    headers: { accept: 'text/html, text/markdown;q=0.9, text/plain;q=0.8' },
    timeoutMs: PAGE_TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    maxRedirects: MAX_REDIRECTS,
    contentTypes: [...HTML, ...TEXT],
    mayVisit: (url) => robots.mayVisit(url),
    signal,
  })
  if (!fetched.ok || fetched.value.status !== 200 || fetched.value.body.byteLength === 0) return page
  const { body, contentType, headers } = fetched.value
  const charset = /charset\s*=\s*"?([\w-]{1,40})/i.exec(headers.get('content-type') ?? '')?.[1] ?? null
  return { ...page, fetched: { bytes: body, isHtml: HTML.includes(contentType), charset } }
}
