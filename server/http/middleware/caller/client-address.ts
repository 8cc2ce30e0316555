import {
  type Address,
  isLoopback,
  isLoopbackHost,
  type KnownAddress,
  parseAddress,
  UNKNOWN_ADDRESS,
} from '../../../core/credentials/address'
import type { Allowlist } from '../../../core/credentials/allowlist'

/** The headers in which a proxy reports the client address. */
export const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded'] as const
export type ForwardingHeader = (typeof FORWARDING_HEADERS)[number]

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
  // Of `Forwarded` the `for` of each element, which may be missing, `unknown` or obfuscated (RFC 7239 section 6).
  const texts =
    header === 'forwarded'
      ? parseForwarded(value)?.map((element) => element.get('for') ?? '')
      : value.split(',').map((hop) => hop.trim())
  const hops = texts?.map(parseHop)
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

/** One element of a `Forwarded` header: its parameters by lower-case name, with quotes and escapes removed. */
type ForwardedElement = ReadonlyMap<string, string>

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
/** An address with brackets or a port, which RFC 7239 wants quoted but many proxies write bare. Contains no delimiter. */
const BARE_VALUE = /[!#$%&'*+\-.^_`|~0-9A-Za-z:[\]]+/y
const QUOTED = /"((?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t \x21-\x7e\x80-\xff])*)"/y
const SPACE = /[ \t]*/y

/**
 * Parses one `Forwarded` header, or several joined by commas (RFC 7239 section 4). Null if any part is malformed: a caller's
 * unclosed quote must not move the start of a trusted proxy's element.
 */
function parseForwarded(header: string): readonly ForwardedElement[] | null {
  const elements: ForwardedElement[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(header)
    if (match) at = pattern.lastIndex
    return match
  }
  const element = (): ForwardedElement | null => {
    const parameters = new Map<string, string>()
    do {
      take(SPACE)
      const name = take(TOKEN)?.[0].toLowerCase()
      if (name !== undefined) {
        if (header[at++] !== '=' || parameters.has(name)) return null
        const value = take(BARE_VALUE)?.[0] ?? take(QUOTED)?.[1]?.replace(/\\(.)/g, '$1')
        if (value === undefined) return null
        parameters.set(name, value)
      }
      take(SPACE)
    } while (header[at] === ';' && ++at)
    return parameters
  }
  do {
    const next = element()
    if (!next) return null
    elements.push(next)
  } while (header[at] === ',' && ++at)
  return at === header.length ? elements : null
}
