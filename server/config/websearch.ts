import { isOperationName } from '../core/catalog/operations'
import { ConfigError } from './config-error'

export type WebsearchProviderName = 'local' | 'brave' | 'searxng'

/** The sources of search results, their order, and how long results are cached. */
export interface WebsearchConfig {
  /** At least one. If one fails, the next one is tried. */
  readonly order: readonly WebsearchProviderName[]
  readonly brave: { readonly baseUrl: string; readonly apiKey: string } | null
  readonly searxng: { readonly url: string; readonly strictEngines: readonly string[] } | null
  /** How many seconds responses are cached, by operation. Other operations are not cached. */
  readonly cacheSeconds: ReadonlyMap<string, number>
  readonly cacheBytes: number
}

const PROVIDERS: readonly WebsearchProviderName[] = ['local', 'brave', 'searxng']
const MAX_CACHE_SECONDS = 86_400
const MAX_CACHE_MB = 4_096
const MIB = 1024 * 1024

/** Reads the settings of the two search endpoints. */
export function websearchConfig(read: (name: string) => string | null): WebsearchConfig {
  const order = providerOrder(read('WEBSEARCH_PROVIDER') ?? 'local')
  return {
    order,
    brave: order.includes('brave') ? braveAccess(read) : null,
    searxng: order.includes('searxng') ? searxngAccess(read) : null,
    cacheSeconds: cacheSeconds(read('WEBSEARCH_CACHE')),
    cacheBytes: cacheMegabytes(read('WEBSEARCH_CACHE_MB') ?? '64') * MIB,
  }
}

function providerOrder(text: string): readonly WebsearchProviderName[] {
  const order = text.split(',').map((part) => {
    const name = PROVIDERS.find((one) => one === part.trim())
    if (!name)
      throw new ConfigError(
        `WEBSEARCH_PROVIDER must be one or more of ${PROVIDERS.join(', ')}, separated by commas, not "${text}"`,
      )
    return name
  })
  if (new Set(order).size !== order.length)
    throw new ConfigError(`WEBSEARCH_PROVIDER must name each provider once, not "${text}"`)
  return order
}

function braveAccess(read: (name: string) => string | null) {
  const apiKey = read('BRAVE_API_KEY')
  if (apiKey === null) throw new ConfigError('BRAVE_API_KEY is not set, but WEBSEARCH_PROVIDER=brave needs it')
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new ConfigError('BRAVE_API_KEY must be one line of printable ASCII characters without spaces')
  return { apiKey, baseUrl: address('BRAVE_BASE_URL', read('BRAVE_BASE_URL') ?? 'https://api.search.brave.com') }
}

function searxngAccess(read: (name: string) => string | null) {
  const url = read('SEARXNG_URL')
  if (url === null)
    throw new ConfigError(
      'SEARXNG_URL is not set, but WEBSEARCH_PROVIDER=searxng needs it, such as https://search.example.com',
    )
  const engines = read('SEARXNG_STRICT_ENGINES')?.split(',') ?? []
  return { url: address('SEARXNG_URL', url), strictEngines: engines.map((name) => name.trim()).filter(Boolean) }
}

/** A base URL without a trailing slash. */
function address(name: string, text: string): string {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username)
    throw new ConfigError(`${name} must be an http or https URL without a query, such as https://search.example.com`)
  return url.href.replace(/\/+$/, '')
}

/** Parses `image-search=300,llm-context=60`. */
function cacheSeconds(text: string | null): ReadonlyMap<string, number> {
  const kept = new Map<string, number>()
  for (const entry of text?.split(',') ?? []) {
    const [, name = '', seconds = ''] = /^\s*([a-z-]+)\s*=\s*(\d{1,6})\s*$/.exec(entry) ?? []
    if (!isOperationName(name) || Number(seconds) < 1 || Number(seconds) > MAX_CACHE_SECONDS)
      throw new ConfigError(
        `WEBSEARCH_CACHE must list operations with 1 to ${MAX_CACHE_SECONDS} seconds, such as image-search=300,llm-context=60, not "${text}"`,
      )
    kept.set(name, Number(seconds))
  }
  return kept
}

function cacheMegabytes(text: string): number {
  const megabytes = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (megabytes < 1 || megabytes > MAX_CACHE_MB)
    throw new ConfigError(`WEBSEARCH_CACHE_MB must be an integer from 1 to ${MAX_CACHE_MB}, not "${text}"`)
  return megabytes
}
