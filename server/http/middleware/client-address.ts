import { type Address, type KnownAddress, parseAddress, UNKNOWN_ADDRESS } from '../../core/credentials/address'
import type { Allowlist } from '../../core/credentials/allowlist'
import { parseForwarded } from './forwarded-header'

/** The two headers in which a proxy reports whose call it passes on. */
export const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded'] as const
export type ForwardingHeader = (typeof FORWARDING_HEADERS)[number]

/** Which proxies are believed, and in which header. */
export interface ProxyTrust {
  readonly addresses: Allowlist | null
  /** Null when the operator named none: `x-forwarded-for` is read. */
  readonly header: ForwardingHeader | null
}

/** Where a call came from; `problem` says why that is unknown, in words for the log. */
export interface ClientAddress {
  readonly address: Address
  readonly problem: string | null
}

/**
 * The address a call came from: the socket's, or, only when the socket is a trusted proxy, the right-most hop that is no trusted
 * proxy itself, of the one header that `TRUSTED_PROXY_HEADER` names (spec-answers 3). Whatever a caller writes further left is
 * never believed. Where the header that is read may be the caller's own, the address is unknown, never the proxy's.
 */
export function clientAddress(socket: Address, headers: Headers, trust: ProxyTrust): ClientAddress {
  const { addresses } = trust
  if (!addresses?.includes(socket)) return known(socket)
  const header = trust.header ?? 'x-forwarded-for'
  const other = header === 'forwarded' ? 'x-forwarded-for' : 'forwarded'
  const value = headers.get(header)
  if (headers.has(other)) {
    const remedy = 'set TRUSTED_PROXY_HEADER to the one that your proxy writes'
    if (value === null) return unknown(`a trusted proxy sends ${other} without ${header}; ${remedy}`)
    if (trust.header === null) return unknown(`a trusted proxy sends both ${header} and ${other}; ${remedy}`)
  }
  if (!value?.trim()) return known(socket)
  const hops = header === 'forwarded' ? forwardedHops(value) : value.split(',').map((hop) => parseHop(hop.trim()))
  if (!hops) return unknown('a trusted proxy sends a Forwarded header that is not well formed (RFC 7239)')
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

/** The `for` of each element, in their order; null for one that is missing, `unknown` or obfuscated (RFC 7239 section 6). */
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
