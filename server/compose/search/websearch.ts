import { openGuardedFetch } from '../../adapters/outbound/guarded-fetch'
import { trustedFetch } from '../../adapters/outbound/one-hop'
import { openBraveWebsearch } from '../../adapters/websearch/brave/open-brave-websearch'
import { PublishedGoggles } from '../../adapters/websearch/goggles/published-goggles'
import { openLocalWebsearch } from '../../adapters/websearch/local/open-local-websearch'
import { openSearxngWebsearch } from '../../adapters/websearch/searxng/open-searxng-websearch'
import type { Config } from '../../config'
import type { WebsearchProviderName } from '../../config/websearch'
import { IMAGE_SEARCH, type ImageSearchInput } from '../../core/catalog/image-search'
import { LLM_CONTEXT, type LlmContextInput } from '../../core/catalog/llm-context'
import type { Clock } from '../../core/clock'
import type { Provider } from '../../core/providers/provider'
import type { Telemetry } from '../../core/telemetry/telemetry'
import type { Log } from '../../log'
import { failOver } from '../../pipeline/search/fail-over'
import { ResponseCache } from '../../pipeline/search/response-cache'
import { indexSources } from './index-sources'

/** A search provider for both data endpoints. */
interface Websearch {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
  close?(): Promise<void>
}

/** Identifies the gateway to the sites that it reads, in their logs and `robots.txt`. */
const AGENT = 'paid-api-gateway'
/** The part of its share of a call's time that a source with several steps plans to use. */
const BUDGET_SHARE = 0.9

/** Providers that cost the operator money per request. */
const PAID: ReadonlySet<WebsearchProviderName> = new Set(['brave'])

/** The providers of the two data endpoints, in the operator's order, with their response cache. */
export function openWebsearch(
  config: Config,
  { clock, telemetry, log }: { clock: Clock; telemetry: Telemetry; log: Log },
) {
  const { indexPath } = indexSources(config.dataDir)
  const onTrouble = (provider: string, reason: string) => log.warn('upstream', { provider, reason })
  const { websearch, creditBuysPaidProviders } = config
  const plugs = websearch.order.map((name) => ({ name, plug: openPlug(name, config, clock, indexPath) }))
  const cache = new ResponseCache(clock, websearch.cacheBytes)
  const sourceOf = <I extends object>(operation: string, timeoutMs: number, pick: (plug: Websearch) => Provider<I>) => {
    const seconds = websearch.cacheSeconds.get(operation)
    const sources = plugs.map(({ name, plug }) => {
      const cost = websearch.costs.get(name)
      const provider = cost === undefined ? pick(plug) : { ...pick(plug), cost }
      return { paid: PAID.has(name), provider: seconds ? cache.over(provider, operation, seconds) : provider }
    })
    return failOver(sources, { timeoutMs, creditBuysPaid: creditBuysPaidProviders, telemetry, onTrouble })
  }
  return {
    images: sourceOf(IMAGE_SEARCH.name, IMAGE_SEARCH.timeoutMs, ({ images }) => images),
    context: sourceOf(LLM_CONTEXT.name, LLM_CONTEXT.timeoutMs, ({ context }) => context),
    async sources() {
      return Object.fromEntries(
        await Promise.all(plugs.map(async ({ name, plug }) => [name, await plug.context.ready()] as const)),
      )
    },
    async close() {
      await Promise.all(plugs.map(({ plug }) => plug.close?.()))
    },
  }
}

function openPlug(name: WebsearchProviderName, config: Config, clock: Clock, indexPath: string): Websearch {
  const { baseUrl, websearch } = config
  const fetchPage = openGuardedFetch({ userAgent: `${AGENT}/0.1 (+${baseUrl})` })
  const goggles = new PublishedGoggles(fetchPage, clock)
  switch (name) {
    case 'brave': {
      if (!websearch.brave) throw new Error('brave is configured, so its settings must be present')
      return openBraveWebsearch({ ...websearch.brave, fetch: trustedFetch, clock })
    }
    case 'searxng': {
      if (!websearch.searxng) throw new Error('searxng is configured, so its settings must be present')
      const { url, strictEngines } = websearch.searxng
      const budgetMs = Math.floor((LLM_CONTEXT.timeoutMs * BUDGET_SHARE) / websearch.order.length)
      const access = { searxngUrl: url, strictEngines, fetch: trustedFetch, fetchPage, agent: AGENT }
      return openSearxngWebsearch({ ...access, goggles, clock, baseUrl, budgetMs })
    }
    case 'local':
      return openLocalWebsearch({ indexPath, baseUrl, now: () => clock.now(), goggles })
  }
}
