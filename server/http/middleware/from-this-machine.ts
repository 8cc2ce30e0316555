import { type Address, isLoopback, isLoopbackHost } from '../../core/credentials/address'

/** Headers that reveal a proxy. */
const PROXY_HEADER = /^(forwarded|x-forwarded-.*|x-real-ip|via)$/

/**
 * Whether a call appears to come from this machine without a proxy: its socket and `Host` are loopback, and no header was added
 * by a proxy. `inProcessHost` is the host of a call that came over no socket.
 */
export function isFromThisMachine(socket: Address, headers: Headers, inProcessHost: string | null): boolean {
  if (!isLoopback(socket)) return false
  const host = headers.get('host') ?? inProcessHost
  if (host === null || !isLoopbackHost(host.replace(/:\d{1,5}$/, ''))) return false
  for (const [name] of headers) if (PROXY_HEADER.test(name)) return false
  return true
}
