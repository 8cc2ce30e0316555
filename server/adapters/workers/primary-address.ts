import { isLoopback, isLoopbackHost, parseAddress } from '../../core/credentials/address'
import { err, ok, type Result } from '../../core/result'

/** Where a primary listens for workers. */
export type PrimaryAddress =
  | { readonly unix: string }
  | { readonly hostname: string; readonly port: number; readonly tls: boolean }

/**
 * Where the primary of this machine listens for the workers of its port: an abstract unix socket, which is also the lock on the port. One process
 * of a network namespace can have it, as one can have the port, and the kernel takes it back from a process that dies.
 */
export function localPrimary(port: number): { readonly unix: string } {
  return { unix: `\0gateway-port-${port}` }
}

/**
 * Reads `unix:/path`, `https://host:port`, or `http://127.0.0.1:port`. The connection carries prompts and keys, so without TLS it must not
 * leave this machine. The error is a sentence.
 */
export function primaryAddress(text: string): Result<PrimaryAddress, string> {
  if (text.startsWith('unix:/')) return ok({ unix: text.slice('unix:'.length) })
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return err(`${text} is not the address of a primary. Use https://HOST:PORT.`)
  if (url.username || url.password || url.search || url.hash || url.pathname !== '/')
    return err(`${url.origin} is all that the address of a primary may contain: no user, path or query.`)
  const tls = url.protocol === 'https:'
  if (!tls && !isLoopbackHost(url.hostname))
    return err(`${text} is not encrypted. Use https:// for a primary on another machine.`)
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return ok({ hostname, port: Number(url.port || (tls ? 443 : 80)), tls })
}

/** Whether the primary may speak to a worker that connected over TCP. */
export function isPrivateConnection(connection: { readonly tls: boolean; readonly remoteAddress: string }): boolean {
  const address = parseAddress(connection.remoteAddress)
  return connection.tls || (address !== null && isLoopback(address))
}

/**
 * Connects to a primary. With TLS, use the socket only once its `handshake` was called with true: `open` comes before the certificate is
 * checked. `ca`: certificates to trust in place of the system's.
 */
export function connectTo<D>(
  address: PrimaryAddress,
  ca: string | null,
  socket: Bun.SocketHandler<D>,
): Promise<Bun.Socket<D>> {
  if ('unix' in address) return Bun.connect<D>({ unix: address.unix, socket })
  const { hostname, port } = address
  if (!address.tls) return Bun.connect<D>({ hostname, port, socket })
  // Never without a member: for `tls: {}`, or one with only undefined members, Bun connects in plain text and says nothing.
  const tls = ca === null ? { rejectUnauthorized: true } : { rejectUnauthorized: true, ca }
  return Bun.connect<D>({ hostname, port, socket, tls })
}
