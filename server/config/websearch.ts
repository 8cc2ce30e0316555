import { isOperationName } from '../core/catalog/operations'
import type { Money } from '../core/money'
import { ConfigError } from './config-error'
import { costs } from './costs'
import { group, httpUrl, integer, invalidSetting, list, quoted, type Read, setting, text } from './schema/setting'

export type WebsearchProviderName = 'local' | 'brave' | 'searxng'

/** The sources of search results, their order, and how long results are cached. */
export interface WebsearchConfig {
  /** At least one. If one fails, the next one is tried. */
  readonly order: readonly WebsearchProviderName[]
  readonly brave: { readonly baseUrl: string; readonly apiKey: string } | null
  readonly searxng: { readonly url: string; readonly strictEngines: readonly string[] } | null
  /** The operator's cost of a request to a provider. Absent: not known. */
  readonly costs: ReadonlyMap<WebsearchProviderName, Money>
  /** How many seconds responses are cached, by operation. Other operations are not cached. */
  readonly cacheSeconds: ReadonlyMap<string, number>
  readonly cacheBytes: number
}

const PROVIDERS: readonly WebsearchProviderName[] = ['local', 'brave', 'searxng']
const MAX_CACHE_SECONDS = 86_400
const MAX_CACHE_MB = 4_096
const MIB = 1024 * 1024
const COSTS_EXAMPLE = 'brave=0.005,searxng=0'
const CACHE_EXAMPLE = 'image-search=300,llm-context=60'

export const SEARCH = group('Search', '', {
  WEBSEARCH_PROVIDER: list(
    {
      default: 'local',
      example: 'brave,local',
      doc: 'Source of search results: `local` (the embedded index), `brave`, `searxng`, or several, comma separated; when one fails, the next is tried. [What each costs and does](providers.md)',
    },
    providerOrder,
  ),
  BRAVE_API_KEY: text({
    secret: true,
    is: /^[\x21-\x7e]+$/,
    rule: 'one line of printable ASCII characters without spaces',
    doc: 'Key of the Brave Search API; needed for `brave`',
  }),
  BRAVE_BASE_URL: httpUrl({
    default: 'https://api.search.brave.com',
    example: 'https://api.search.brave.com',
    doc: 'Base URL of that API',
  }),
  SEARXNG_URL: httpUrl({
    example: 'https://search.example.com',
    doc: 'URL of your SearXNG; needed for `searxng`. It must have `json` in `search.formats`',
  }),
  SEARXNG_STRICT_ENGINES: list(
    {
      example: 'bing images,qwant',
      doc: 'Engines, comma separated, that honor safe search: only these answer `safesearch=strict`',
    },
    (engines) => engines.filter(Boolean),
  ),
  WEBSEARCH_COSTS_USD: costs(
    {
      example: COSTS_EXAMPLE,
      doc: `Your cost of a request to a provider, for [reports on margin](operating/money.md#revenue-and-margin): \`${COSTS_EXAMPLE}\`. The embedded search costs nothing; others without a cost count as unknown`,
    },
    (name) => PROVIDERS.find((one) => one === name),
    'providers with what a request costs in USD',
  ),
  WEBSEARCH_CACHE: setting(
    {
      default: null,
      example: CACHE_EXAMPLE,
      doc: `Seconds to cache answers, per operation: \`${CACHE_EXAMPLE}\`. Off when empty. Check that your provider's terms allow caching`,
    },
    { anyOf: [{ type: 'object', additionalProperties: { type: 'integer' } }, { type: 'string' }] },
    cacheSeconds,
  ),
  WEBSEARCH_CACHE_MB: integer({
    default: 64,
    min: 1,
    max: MAX_CACHE_MB,
    doc: 'Maximum memory for cached answers, in MB',
  }),
})

/** Reads the settings of the two search endpoints. */
export function websearchConfig(read: Read): WebsearchConfig {
  const { WEBSEARCH_PROVIDER, WEBSEARCH_COSTS_USD, WEBSEARCH_CACHE, WEBSEARCH_CACHE_MB } = SEARCH.settings
  const order = WEBSEARCH_PROVIDER.of(read)
  return {
    order,
    brave: order.includes('brave') ? braveAccess(read) : null,
    searxng: order.includes('searxng') ? searxngAccess(read) : null,
    costs: WEBSEARCH_COSTS_USD.of(read) ?? new Map(),
    cacheSeconds: WEBSEARCH_CACHE.of(read) ?? new Map(),
    cacheBytes: WEBSEARCH_CACHE_MB.of(read) * MIB,
  }
}

function providerOrder(entries: readonly string[], name: string, given: string): readonly WebsearchProviderName[] {
  const order = entries.map((entry) => {
    const found = PROVIDERS.find((one) => one === entry)
    if (!found) throw invalidSetting(name, `one or more of ${PROVIDERS.join(', ')}, separated by commas`, given)
    return found
  })
  if (new Set(order).size !== order.length)
    throw new ConfigError(`${name} must name each provider once, not ${quoted(given)}`)
  return order
}

function braveAccess(read: Read) {
  const apiKey = SEARCH.settings.BRAVE_API_KEY.of(read)
  if (apiKey === null) throw new ConfigError('BRAVE_API_KEY is not set, but WEBSEARCH_PROVIDER=brave needs it')
  return { apiKey, baseUrl: base(SEARCH.settings.BRAVE_BASE_URL.of(read)) }
}

function searxngAccess(read: Read) {
  const url = SEARCH.settings.SEARXNG_URL.of(read)
  if (url === null)
    throw new ConfigError(
      'SEARXNG_URL is not set, but WEBSEARCH_PROVIDER=searxng needs it, such as https://search.example.com',
    )
  return { url: base(url), strictEngines: SEARCH.settings.SEARXNG_STRICT_ENGINES.of(read) ?? [] }
}

/** A base URL without a trailing slash. */
function base(url: string): string {
  return url.replace(/\/+$/, '')
}

/** Parses `image-search=300,llm-context=60`. */
function cacheSeconds(given: string, setting: string): ReadonlyMap<string, number> {
  const kept = new Map<string, number>()
  for (const entry of given.split(',')) {
    const [, name = '', seconds = ''] = /^\s*([a-z-]+)\s*=\s*(\d{1,6})\s*$/.exec(entry) ?? []
    if (!isOperationName(name) || Number(seconds) < 1 || Number(seconds) > MAX_CACHE_SECONDS)
      throw invalidSetting(
        setting,
        `operations with 1 to ${MAX_CACHE_SECONDS} seconds, such as ${CACHE_EXAMPLE}`,
        given,
      )
    kept.set(name, Number(seconds))
  }
  return kept
}
