import type { ImageSearchInput } from '../../../core/catalog/image-search'
import type { LlmContextInput } from '../../../core/catalog/llm-context'
import { type Clock, isoTime } from '../../../core/clock'
import type { OutboundFetch } from '../../../core/outbound/outbound-fetch'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../../../core/providers/provider'
import { ok, type Result } from '../../../core/result'
import type { PublishedGoggles } from '../goggles/published-goggles'
import { metaUrl } from '../meta-url'
import { RecentHealth } from '../recent-health'
import { ContextSearch } from './context-search'
import { PageReader, type PageReaderOptions } from './page-reader'
import { RobotsRules } from './robots-rules'
import { SearxngClient, type SearxngResult, type SearxngSearch } from './searxng-client'
import { searchableWords, searxngLanguage, searxngSafesearch } from './searxng-query'
import { searxngSearch, unasked } from './searxng-search'

export interface SearxngWebsearchOptions {
  /** Where the operator's SearXNG is, without a slash at the end. */
  readonly searxngUrl: string
  /** Engines for `safesearch=strict`, by SearXNG's names; SearXNG chooses when empty. */
  readonly strictEngines: readonly string[]
  /** Calls the operator's SearXNG. */
  readonly fetch: OutboundFetch
  /** Fetches untrusted URLs, public addresses only. */
  readonly fetchPage: OutboundFetch
  /** Our user agent name in a `robots.txt`. */
  readonly agent: string
  readonly goggles: PublishedGoggles
  readonly clock: Clock
  readonly baseUrl: string
  /** Timeout of a whole call, below its deadline. */
  readonly budgetMs: number
  readonly pages?: PageReaderOptions
}

interface SearxngWebsearch {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
  /** Ends the thread that reads pages. */
  close(): Promise<void>
}

const MAX_IMAGE_PAGES = 5

/** The `searxng` websearch provider: web engines through the operator's own SearXNG. */
export function openSearxngWebsearch(options: SearxngWebsearchOptions): SearxngWebsearch {
  const { clock, goggles, baseUrl, budgetMs, strictEngines, fetchPage } = options
  const client = new SearxngClient(options.searxngUrl, options.fetch)
  const pageReader = new PageReader(options.pages)
  const robots = new RobotsRules(fetchPage, clock, options.agent)
  const contexts = new ContextSearch({
    client,
    fetchPage,
    robots,
    pageReader,
    goggles,
    clock,
    baseUrl,
    budgetMs,
    strictEngines,
  })
  const health = new RecentHealth(clock)
  const ready = async () => health.isGood() && (await client.isHealthy(clock.now()))
  return {
    images: {
      name: 'searxng',
      ready,
      call: async (input, signal, origin) => health.noted(await images(client, options, input, signal, origin), signal),
    },
    context: {
      name: 'searxng',
      ready,
      call: async (input, signal, origin) => health.noted(await contexts.answer(input, signal, origin), signal),
    },
    async close() {
      pageReader.close()
    },
  }
}

async function images(
  client: SearxngClient,
  { strictEngines, budgetMs, clock }: SearxngWebsearchOptions,
  input: ImageSearchInput,
  signal: AbortSignal,
  { traceparent }: CallOrigin,
): Promise<Result<ProviderAnswer, UpstreamFailure>> {
  const question = {
    words: searchableWords(input.q),
    category: 'images' as const,
    language: searxngLanguage(input.search_lang, input.country),
    safesearch: searxngSafesearch(input.safesearch),
    timeRange: null,
    engines: input.safesearch === 'strict' ? strictEngines : [],
    traceparent,
  }
  const { spellcheck, count } = input
  const sameness = ({ imageUrl }: SearxngResult) => imageUrl
  const searxngOptions = { question, spellcheck, count, maxPages: MAX_IMAGE_PAGES, sameness, timeoutMs: budgetMs }
  const end = performance.now() + budgetMs
  const search = await searxngSearch(client, searxngOptions, signal)
  if (search.ok && search.value.results.length === 0) {
    const problem = await unasked(client, question, Math.max(1, Math.floor(end - performance.now())), clock.now())
    if (problem) return problem
  }
  return search.ok ? ok({ body: imageBody(input, search.value, clock.now()) }) : search
}

/** The 200 body of an image search, as JSON text. */
function imageBody(input: ImageSearchInput, { results, altered }: SearxngSearch, nowMs: number): string {
  const shown = results.slice(0, input.count)
  return JSON.stringify({
    type: 'images',
    query: {
      original: input.q,
      ...(altered !== null && { altered }),
      ...(!input.spellcheck && { spellcheck_off: true }),
      show_strict_warning: false,
    },
    results: shown.map((result, at) => imageResult(result, confidence(at, shown.length), nowMs)),
    extra: { might_be_offensive: input.safesearch === 'off' },
  })
}

function imageResult(result: SearxngResult, confidence: string, nowMs: number): object {
  const picture = result.imageUrl
  const preview = result.imageThumbnail || result.thumbnail || picture
  return {
    type: 'image_result',
    title: result.title,
    url: result.url,
    source: new URL(result.url).hostname,
    // The time of the search: SearXNG does not crawl, and clients of the original service skip results without a date.
    page_fetched: isoTime(nowMs).replace(/\.\d+Z$/, 'Z'),
    thumbnail: { src: preview },
    properties: { url: picture, placeholder: preview, ...size(result.resolution) },
    meta_url: metaUrl(result.url),
    confidence,
  }
}

/** Derived from its position in the results, which the engines ranked. */
function confidence(at: number, of: number): 'high' | 'medium' | 'low' {
  return at * 3 < of ? 'high' : at * 3 < of * 2 ? 'medium' : 'low'
}

/** `1920x1080`, `1920 × 1080`; engines also say `NonexNone`, `?x?` or `large`. */
function size(resolution: string): { width: number; height: number } | null {
  const [, width, height] = /^(\d{1,6})\s*[x×*]\s*(\d{1,6})\b/i.exec(resolution) ?? []
  return Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height) } : null
}
