import { MINUTE_MS } from '../../../core/clock'
import { jsonText, member, parsedJsonBytes } from '../../../core/json'
import type { OutboundAnswer, OutboundFetch } from '../../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../../core/providers/provider'
import { err, ok, type Result } from '../../../core/result'
import { retryAfterSeconds } from '../../../core/retry-after'
import { upstreamFailure } from '../upstream-failure'

/** One query to SearXNG. Every value uses SearXNG's spelling. */
export interface SearxngQuestion {
  readonly words: string
  readonly category: 'general' | 'images'
  readonly language: string
  readonly safesearch: string
  readonly timeRange: string | null
  /** Engines that are asked; SearXNG's own choice when empty. */
  readonly engines: readonly string[]
  /** Sent along; null for none. */
  readonly traceparent: string | null
}

/** One result, as far as any answer uses it. A missing member is an empty text; addresses are absolute. */
export interface SearxngResult {
  readonly url: string
  readonly title: string
  readonly content: string
  /** ISO timestamp; null when the engine did not say. */
  readonly published: string | null
  readonly thumbnail: string
  readonly imageUrl: string
  readonly imageThumbnail: string
  readonly resolution: string
}

/** What SearXNG says of an engine. */
interface SearxngEngine {
  readonly name: string
  readonly categories: readonly string[]
  readonly isEnabled: boolean
  readonly canSearchByAge: boolean
}

export interface SearxngPage {
  readonly results: readonly SearxngResult[]
  readonly corrections: readonly string[]
}

export interface SearxngSearch extends SearxngPage {
  /** The words that were searched, when they are a correction. */
  readonly altered: string | null
}

const MAX_BYTES = 8 * 1024 * 1024
const CONFIG_BYTES = 4 * 1024 * 1024
/** How long what SearXNG says of its engines is used. */
const CONFIG_FRESH_MS = MINUTE_MS
/**
 * The sender of every search: the gateway itself. SearXNG's limiter requires the header, and the addresses of callers go to no upstream.
 */
const FROM_GATEWAY = { 'x-real-ip': '127.0.0.1' }
const HEALTH_BYTES = 64 * 1024
const HEALTH_FRESH_MS = 5_000
const HEALTH_TIMEOUT_MS = 2_000

/**
 * The JSON API of a SearXNG that the operator runs.
 * https://docs.searxng.org/dev/search_api.html
 */
export class SearxngClient {
  private readonly baseUrl: string
  private readonly fetch: OutboundFetch
  private config: { readonly at: number; readonly engines: Promise<readonly SearxngEngine[]> } | null = null
  private health: { readonly at: number; readonly well: Promise<boolean> } | null = null

  /** `baseUrl` without a slash at the end. */
  constructor(baseUrl: string, fetch: OutboundFetch) {
    this.baseUrl = baseUrl
    this.fetch = fetch
  }

  /** One page of results. It is a failure when all engines failed, although SearXNG returns 200. */
  async ask(
    question: SearxngQuestion,
    page: number,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Result<SearxngPage, UpstreamFailure>> {
    const query = new URLSearchParams({
      q: question.words,
      format: 'json',
      categories: question.category,
      language: question.language,
      safesearch: question.safesearch,
      pageno: String(page),
    })
    if (question.timeRange !== null) query.set('time_range', question.timeRange)
    if (question.engines.length > 0) query.set('engines', question.engines.join(','))
    const url = `${this.baseUrl}/search?${query}`
    const fetched = await this.fetch({
      url,
      headers: {
        accept: 'application/json',
        ...FROM_GATEWAY,
        ...(question.traceparent !== null && { traceparent: question.traceparent }),
      },
      timeoutMs,
      maxBytes: MAX_BYTES,
      signal,
    })
    if (!fetched.ok) return err(upstreamFailure('searxng', fetched.error))
    if (fetched.value.status !== 200) return err(refused(fetched.value))
    return readPage(fetched.value.body)
  }

  /** The engines that this question asks; null if SearXNG does not say which it has. */
  async enginesFor(
    { category, engines }: SearxngQuestion,
    timeoutMs: number,
    nowMs: number,
  ): Promise<readonly SearxngEngine[] | null> {
    if (!this.config || nowMs - this.config.at >= CONFIG_FRESH_MS)
      this.config = { at: nowMs, engines: this.askEngines(timeoutMs) }
    const { config } = this
    const known = await config.engines
    if (known.length === 0 && this.config === config) this.config = null
    if (known.length === 0) return null
    return known.filter((one) =>
      engines.length > 0 ? engines.includes(one.name) : one.isEnabled && one.categories.includes(category),
    )
  }

  private async askEngines(timeoutMs: number): Promise<readonly SearxngEngine[]> {
    const headers = { accept: 'application/json', ...FROM_GATEWAY }
    const fetched = await this.fetch({ url: `${this.baseUrl}/config`, headers, timeoutMs, maxBytes: CONFIG_BYTES })
    const engines =
      fetched.ok && fetched.value.status === 200 ? member(parsedJsonBytes(fetched.value.body), 'engines') : null
    return Array.isArray(engines) ? engines.map(readEngine) : []
  }

  /** Whether SearXNG reports that it is healthy. Checked at most every five seconds. */
  isHealthy(nowMs: number): Promise<boolean> {
    if (!this.health || nowMs - this.health.at >= HEALTH_FRESH_MS) this.health = { at: nowMs, well: this.askHealth() }
    return this.health.well
  }

  private async askHealth(): Promise<boolean> {
    const url = `${this.baseUrl}/healthz`
    const fetched = await this.fetch({ url, timeoutMs: HEALTH_TIMEOUT_MS, maxBytes: HEALTH_BYTES })
    return fetched.ok && fetched.value.status === 200
  }
}

function refused({ status, headers }: OutboundAnswer): UpstreamFailure {
  const reason = `searxng: ${status}`
  if (status === 403) return { kind: 'unavailable', reason: `${reason}; is "json" in its search.formats?` }
  if (status === 429) {
    const seconds = retryAfterSeconds(headers.get('retry-after')) ?? 0
    const known = seconds > 0
    const limiter = `${reason}; is the gateway in pass_ip of its limiter?`
    return { kind: 'rate_limited', reason: limiter, ...(known && { retryAfterSeconds: Math.ceil(seconds) }) }
  }
  if (status === 401 || status === 404 || status === 503) return { kind: 'unavailable', reason }
  if (status === 504) return { kind: 'timeout', reason }
  return { kind: 'error', reason }
}

function readPage(bytes: Uint8Array): Result<SearxngPage, UpstreamFailure> {
  const body = parsedJsonBytes(bytes)
  const results = member(body, 'results')
  if (!Array.isArray(results)) return err({ kind: 'error', reason: 'searxng: 200 with an unreadable body' })
  const failed = member(body, 'unresponsive_engines')
  if (results.length === 0 && Array.isArray(failed) && failed.length > 0)
    return err({ kind: 'error', reason: `searxng: no engine answered (${enginesOf(failed)})` })
  const corrections = member(body, 'corrections')
  return ok({
    results: results.map(readResult).filter(({ url }) => webAddress(url) !== ''),
    corrections: Array.isArray(corrections) ? corrections.filter((text) => typeof text === 'string') : [],
  })
}

function readEngine(value: unknown): SearxngEngine {
  const categories = member(value, 'categories')
  return {
    name: String(member(value, 'name')),
    categories: Array.isArray(categories) ? categories.map(String) : [],
    isEnabled: member(value, 'enabled') === true,
    canSearchByAge: member(value, 'time_range_support') === true,
  }
}

function readResult(value: unknown): SearxngResult {
  const text = (name: string): string => {
    const found = member(value, name)
    return typeof found === 'string' ? found.trim() : ''
  }
  return {
    url: text('url'),
    title: text('title'),
    content: text('content'),
    published: instant(text('publishedDate')),
    thumbnail: webAddress(text('thumbnail')),
    imageUrl: webAddress(text('img_src')),
    imageThumbnail: webAddress(text('thumbnail_src')),
    resolution: text('resolution'),
  }
}

/** SearXNG returns dates without a time zone; they are read as UTC. */
function instant(text: string): string | null {
  const zoned = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) || !text.includes('T') ? text : `${text}Z`
  const at = new Date(zoned)
  return text === '' || Number.isNaN(at.getTime()) ? null : at.toISOString()
}

function enginesOf(failed: readonly unknown[]): string {
  const reports = failed.map((one) => (Array.isArray(one) ? one.slice(0, 2).join(': ') : jsonText(one)))
  return reports.join(', ').slice(0, 300)
}

/** A web URL as engines write it, made absolute; a bare `//host` becomes https. Empty when a browser could not open it. */
function webAddress(text: string): string {
  const url = URL.parse(text.startsWith('//') ? `https:${text}` : text)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : ''
}
