import { type Address, isLoopback, isLoopbackHost } from '../../core/credentials/address'

/** A header that says that somebody stands between. */
const OF_A_PROXY = /^(forwarded|x-forwarded-.*|x-real-ip|via)$/

/**
 * Whether a call was made on this machine and passed no proxy, as far as anybody can see: its socket and its `Host` are loopback,
 * and it has no header that a proxy adds. `inProcessHost` names the host of a call that came over no socket.
 */
export function isFromThisMachine(socket: Address, headers: Headers, inProcessHost: string | null): boolean {
  if (!isLoopback(socket)) return false
  const host = headers.get('host') ?? inProcessHost
  if (host === null || !isLoopbackHost(host.replace(/:\d{1,5}$/, ''))) return false
  for (const [name] of headers) if (OF_A_PROXY.test(name)) return false
  return true
}
