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

/** The origin at which a primary with this address takes what is passed on. */
export function passOnOrigin(address: PrimaryAddress, port: number): string {
  if ('unix' in address) return `http://127.0.0.1:${port}`
  const { hostname, tls } = address
  return `${tls ? 'https' : 'http'}://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
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
