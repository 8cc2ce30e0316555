import { openGuardedFetch } from '../adapters/outbound/guarded-fetch'
import { isNeverAllowed } from '../adapters/outbound/public-address'
import { parseAddress } from '../core/credentials/address'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import { PRODUCT } from '../core/version'

/** Requests to public addresses, and to private ones where the operator allows them. Link-local and metadata addresses never. */
export function openPrivateFetch({ baseUrl, allows }: { baseUrl: string; allows: boolean }): OutboundFetch {
  return openGuardedFetch({
    userAgent: `${PRODUCT} (+${baseUrl})`,
    permits(text) {
      const address = parseAddress(text)
      return allows && address !== null && !isNeverAllowed(address)
    },
  })
}
