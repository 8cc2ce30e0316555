import type { Config } from '../../config'
import { formatAddress } from '../../core/credentials/address'
import { clientAddress } from '../../http/middleware/caller/client-address'
import type { ContextDeps } from '../../http/middleware/request-context'
import type { Log } from '../../log'

const FORWARDED = ['x-forwarded-for', 'forwarded']

/**
 * Determines callers' addresses. The log has each reason why one is unknown once, and in production the first address that a proxy
 * forwarded, to check the proxies' settings by.
 */
export function clientAddresses(
  { trustedProxies, trustedProxyHeader, production }: Config,
  log: Log,
): ContextDeps['addressOf'] {
  const proxies = { addresses: trustedProxies, header: trustedProxyHeader }
  const known = new Set<string>()
  let isSaid = !production
  return (socket, headers) => {
    const { address, problem } = clientAddress(socket, headers, proxies)
    if (problem !== null && !known.has(problem)) {
      known.add(problem)
      log.warn('client address is unknown', { problem })
    }
    if (!isSaid && (trustedProxies ? address !== socket : FORWARDED.some((name) => headers.has(name)))) {
      isSaid = true
      const from = { proxy: formatAddress(socket) }
      if (trustedProxies) log.info('the first request through a proxy', { ...from, caller: formatAddress(address) })
      else
        log.warn(
          'a request has a forwarding header, but TRUSTED_PROXIES is not set: callers of a proxy have its address',
          from,
        )
    }
    return address
  }
}
