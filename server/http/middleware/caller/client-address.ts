import {
  type Address,
  isLoopback,
  isLoopbackHost,
  type KnownAddress,
  parseAddress,
  UNKNOWN_ADDRESS,
} from '../../../core/credentials/address'
import type { Allowlist } from '../../../core/credentials/allowlist'
import { parseForwarded } from './forwarded-header'

/** The headers in which a proxy reports the client address. */
export const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded'] as const
export type ForwardingHeader = (typeof FORWARDING_HEADERS)[number]

/** The trusted proxies, and the header they write. */
export interface ProxyTrust {
  readonly addresses: Allowlist | null
  /** Null if not configured: `x-forwarded-for` is read. */
  readonly header: ForwardingHeader | null
}

/** Where a call came from. `problem` is a log message that says why the address is unknown. */
export interface ClientAddress {
  readonly address: Address
  readonly problem: string | null
}

/**
 * The address a call came from: the socket's, or, if the socket is a trusted proxy, the right-most hop that is not a trusted proxy
 * itself, from the header that `TRUSTED_PROXY_HEADER` names (spec D3). Anything a caller writes further left is ignored.
 * If the caller may have written the header, the address is unknown; it is never the proxy's.
 */
export function clientAddress(socket: Address, headers: Headers, trust: ProxyTrust): ClientAddress {
  const { addresses } = trust
  if (!addresses?.includes(socket)) return known(socket)
  const header = trust.header ?? 'x-forwarded-for'
  const other = header === 'forwarded' ? 'x-forwarded-for' : 'forwarded'
  const value = headers.get(header)
  if (headers.has(other)) {
    const remedy = 'set TRUSTED_PROXY_HEADER to the header that your proxy writes'
    if (value === null) return unknown(`a trusted proxy sends ${other} without ${header}; ${remedy}`)
    if (trust.header === null) return unknown(`a trusted proxy sends both ${header} and ${other}; ${remedy}`)
  }
  if (!value?.trim()) return known(socket)
  const hops = header === 'forwarded' ? forwardedHops(value) : value.split(',').map((hop) => parseHop(hop.trim()))
  if (!hops) return unknown('a trusted proxy sends a malformed Forwarded header (RFC 7239)')
  let nearest: Address = socket
  for (const hop of hops.reverse()) {
    if (!hop) return unknown(`a trusted proxy reports a hop in ${header} that is not an IP address`)
    nearest = hop
    if (!addresses.includes(hop)) break
  }
  return known(nearest)
}

function known(address: Address): ClientAddress {
  return { address, problem: null }
}

function unknown(problem: string): ClientAddress {
  return { address: UNKNOWN_ADDRESS, problem }
}

/** The `for` of each element, in order; null if it is missing, `unknown` or obfuscated (RFC 7239 section 6). */
function forwardedHops(header: string): (KnownAddress | null)[] | null {
  return parseForwarded(header)?.map((element) => parseHop(element.get('for') ?? '')) ?? null
}

/** An address with or without brackets and port: `203.0.113.7:1234`, `[2001:db8::1]:443`, `[2001:db8::1]:_hidden`. */
function parseHop(text: string): KnownAddress | null {
  const [, bracketed, rest] = /^\[([^\]]*)\](.*)$/.exec(text) ?? []
  if (bracketed !== undefined) return isPort(rest ?? '') && bracketed.includes(':') ? parseAddress(bracketed) : null
  const colon = text.indexOf(':')
  const isV4WithPort = colon >= 0 && colon === text.lastIndexOf(':')
  if (!isV4WithPort) return parseAddress(text)
  return isPort(text.slice(colon)) ? parseAddress(text.slice(0, colon)) : null
}

/** Nothing, or a colon with a port number or an obfuscated port. */
function isPort(text: string): boolean {
  return /^(:(\d{1,5}|_[\w.-]+))?$/.test(text)
}

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
