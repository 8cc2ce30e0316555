import type { Config } from '../../config'
import { formatAddress } from '../../core/credentials/address'
import { addressReader, type ContextDeps } from '../../http/middleware/request-context'
import type { Log } from '../../log'

const FORWARDED = ['x-forwarded-for', 'forwarded']

/** Determines callers' addresses. In production the log has the first one that a proxy forwarded, to check the proxies' settings by. */
export function clientAddresses(
  { trustedProxies, trustedProxyHeader, production }: Config,
  log: Log,
): ContextDeps['addressOf'] {
  const read = addressReader({ addresses: trustedProxies, header: trustedProxyHeader }, (problem) =>
    log.warn('client address is unknown', { problem }),
  )
  let isSaid = !production
  return (socket, headers) => {
    const address = read(socket, headers)
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
