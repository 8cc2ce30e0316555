import { openGuardedFetch } from '../adapters/outbound/guarded-fetch'
import { PublishedGoggles } from '../adapters/websearch/goggles/published-goggles'
import { type LocalWebsearch, openLocalWebsearch } from '../adapters/websearch/local/open-local-websearch'
import type { Config } from '../config'
import type { Clock } from '../core/clock'

/** The sources of the two data endpoints. */
export function openWebsearch(config: Config, clock: Clock, indexPath: string): LocalWebsearch {
  const { baseUrl } = config
  const fetchPublic = openGuardedFetch({ userAgent: `paid-api-gateway/0.1 (+${baseUrl})` })
  const goggles = new PublishedGoggles(fetchPublic, clock)
  return openLocalWebsearch({ indexPath, baseUrl, now: () => clock.now(), goggles })
}
