import { type Address, parseAddress } from '../core/credentials/address'
import type { Allowlist } from '../core/credentials/allowlist'

/**
 * The address a call came from: the socket's, or, only when the socket is a trusted proxy, the right-most hop of
 * `X-Forwarded-For` (else of `Forwarded`, RFC 7239) that is not a trusted proxy itself (spec-answers 3). Whatever a caller
 * writes further left is never believed; a hop that is no address ends the walk at the proxy that reported it.
 */
export function clientAddress(socket: Address, headers: Headers, trusted: Allowlist | null): Address {
  if (!trusted?.includes(socket)) return socket
  const forwardedFor = headers.get('x-forwarded-for')
  const hops = forwardedFor === null ? forwardedHops(headers.get('forwarded')) : forwardedFor.split(',')
  let nearest = socket
  for (const hop of hops.reverse()) {
    const address = parseHop(hop)
    if (!address) return nearest
    nearest = address
    if (!trusted.includes(address)) return address
  }
  return nearest
}

/** The `for=` members of `Forwarded`, in their order; an element without one stays as an unreadable hop. */
function forwardedHops(header: string | null): string[] {
  if (header === null) return []
  return header.split(',').map((element) => /(?:^|;)\s*for=("[^"]*"|[^;\s]*)/i.exec(element)?.[1] ?? '')
}

/** An address with or without brackets, quotes and port: `203.0.113.7:1234`, `"[2001:db8::1]:443"`. */
function parseHop(text: string): Address | null {
  const bare = text.trim().replace(/^"(.*)"$/, '$1')
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare)
  if (bracketed) return parseAddress(bracketed[1] ?? '')
  return parseAddress(/^[^:]*:\d{1,5}$/.test(bare) ? bare.slice(0, bare.indexOf(':')) : bare)
}
