import { lookup } from 'node:dns/promises'
import { formatAddress } from '../../core/credentials/address'
import type {
  OutboundFetch,
  OutboundProblem,
  OutboundRequest,
  OutboundStreamFetch,
} from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { AddressBook, CheckedAddresses } from './address-book'
import { Deadline } from './deadline'
import { type Hop, isRedirect, oneHop, openHop } from './one-hop'
import { publicAddress } from './public-address'

/** All addresses of a host name, as text. Throws when there is none. */
export type Resolver = (host: string) => Promise<readonly string[]>

export interface GuardedFetchOptions {
  /** Sent with every request: who calls, and where to complain. */
  readonly userAgent: string
  readonly resolver?: Resolver
  /** Allows a test's own server, by address and port. Set only when the fetch is created, so that no request can set it. */
  readonly permits?: (address: string, port: number) => boolean
  /** An additional certificate authority, as PEM. */
  readonly ca?: string
  /** Keeps connections of reads open, to the addresses in it. For upstreams that are called often. */
  readonly addressBook?: AddressBook
}

type SendHop<T> = (hop: Hop) => Promise<Result<T, OutboundProblem>>

/** What all URLs of an origin have in common. */
interface Origin {
  /** Such as `https://example.com:8443`. */
  readonly text: string
  readonly protocol: string
  readonly hostname: string
  /** The host name with its port, unless that is the usual one. */
  readonly host: string
  readonly port: number
  /** Whether it names its host by address. */
  readonly isAddress: boolean
  /** The name that a certificate must be for; null for an address. */
  readonly tlsName: string | null
}

/** A URL that may be called. */
interface Target {
  /** Normalized, without a fragment. */
  readonly href: string
  readonly url: URL
  readonly origin: Origin
}

const BAD_URL: OutboundProblem = { kind: 'bad_url', reason: 'not an http or https URL on an allowed port' }
const MIN_HIGH_PORT = 1024
/** High ports whose non-HTTP services could interpret a request as commands (the fetch standard's list). */
const OTHER_PROTOCOLS = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
/** How many addresses of one name are tried, one after the other. */
const MAX_ADDRESSES = 3

/**
 * Fetches URLs that strangers supply, from the public internet only. At every hop the name is resolved once, all its
 * addresses are checked, and the connection goes to a checked one, so that DNS rebinding has no effect.
 */
export function openGuardedFetch(options: GuardedFetchOptions): OutboundFetch {
  return async (request) => {
    const first = targetOf(request.url)
    if (!first) return err(BAD_URL)
    const canFollow = (request.method ?? 'GET') === 'GET' || request.method === 'HEAD'
    const maxRedirects = canFollow ? (request.maxRedirects ?? 0) : 0
    const deadline = new Deadline(request.timeoutMs, request.signal)
    try {
      let target = first
      for (let followed = 0; ; followed++) {
        const hopped = await visit(target, first, request, deadline, options, oneHop)
        if (maxRedirects === 0 || !hopped.ok || !isRedirect(hopped.value)) return hopped
        if (followed === maxRedirects) return err(tooManyRedirects(first, maxRedirects))
        const next = targetOf(hopped.value.headers.get('location') ?? '', target.url)
        if (!next) return err(BAD_URL)
        target = next
      }
    } finally {
      deadline.end()
    }
  }
}

function tooManyRedirects({ origin: { host } }: Target, max: number): OutboundProblem {
  return { kind: 'too_many_redirects', reason: `${host} redirected more than ${max} times` }
}

/** The same for answers that go on for long: the same checks, and no redirects. */
export function openGuardedStreams(options: GuardedFetchOptions): OutboundStreamFetch {
  return async (request) => {
    const target = targetOf(request.url)
    if (!target) return err(BAD_URL)
    const deadline = new Deadline(request.timeoutMs, request.signal)
    let isStream = false
    try {
      const opened = await visit(target, target, request, deadline, options, openHop)
      isStream = opened.ok && opened.value.kind === 'stream'
      return opened
    } finally {
      if (isStream) deadline.stopTimer()
      else deadline.end()
    }
  }
}

/** Origins that may be called, so that the parts of a URL are looked at once for all calls of one upstream. */
const ORIGINS = new Map<string, Origin>()
const MAX_ORIGINS = 1000

/** Parses a URL that may be called (http or https, a usual port, no user name), else null. The URL parser has already normalized numeric hosts. */
function targetOf(text: string, base?: URL): Target | null {
  const url = URL.parse(text, base)
  if (!url) return null
  const { href } = url
  const start = href.startsWith('https://') ? 8 : href.startsWith('http://') ? 7 : -1
  if (start < 0) return null
  const originText = href.slice(0, href.indexOf('/', start))
  const origin = ORIGINS.get(originText) ?? originOf(originText, url)
  const end = href.indexOf('#')
  return origin && { href: end < 0 ? href : href.slice(0, end), url, origin }
}

function originOf(text: string, { protocol, hostname, host, port: shown, username, password }: URL): Origin | null {
  if (hostname === '' || username !== '' || password !== '') return null
  const port = shown !== '' ? Number(shown) : protocol === 'https:' ? 443 : 80
  if (port !== 80 && port !== 443 && (port < MIN_HIGH_PORT || OTHER_PROTOCOLS.has(port))) return null
  const isAddress = hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
  const name = hostname.replace(/\.$/, '')
  const tlsName = name.startsWith('[') || /^[\d.]+$/.test(name) ? null : name
  const origin = { text, protocol, hostname, host, port, isAddress, tlsName }
  const [oldest] = ORIGINS.size < MAX_ORIGINS ? [] : ORIGINS.keys()
  if (oldest !== undefined) ORIGINS.delete(oldest)
  ORIGINS.set(text, origin)
  return origin
}

/** One hop of a request that began at `first`, whose headers no other origin gets. */
async function visit<T>(
  target: Target,
  first: Target,
  request: OutboundRequest,
  deadline: Deadline,
  options: GuardedFetchOptions,
  sendHop: SendHop<T>,
): Promise<Result<T, OutboundProblem>> {
  const { origin, href } = target
  if (request.mayVisit) {
    const may = await beforeEnd(Promise.resolve(request.mayVisit(target.url, deadline.signal)).then(ok), deadline)
    if (!may.ok) return may
    if (!may.value) return err({ kind: 'not_allowed', reason: `${origin.host} does not allow this URL to be fetched` })
  }
  const finding = addressesOf(origin, deadline, options)
  const addresses = finding instanceof Promise ? await finding : finding
  if (!addresses.ok) return addresses
  const headers = {
    ...(origin.text === first.origin.text ? request.headers : null),
    'user-agent': options.userAgent,
    host: origin.host,
  }
  const isRepeated = isRepeatable(request)
  const keepAlive = isRepeated && (options.addressBook !== undefined || origin.isAddress)
  const tls = tlsOf(origin, options)
  let last: Result<T, OutboundProblem> | null = null
  for (const address of addresses.value) {
    last = await sendHop({
      url: href,
      connectTo: numbered(target, address),
      headers,
      keepAlive,
      tls,
      request,
      deadline,
    })
    if (last.ok || last.error.kind !== 'unreachable' || !isRepeated) break
  }
  if (!last) return err({ kind: 'unreachable', reason: `${origin.host} has no address` })
  if (!last.ok && last.error.kind === 'unreachable') options.addressBook?.forget(origin.text)
  return last
}

/** Bun shares an open connection only between requests of the same TLS settings, also where there is no TLS. */
function tlsOf({ tlsName }: Origin, { ca }: GuardedFetchOptions): Hop['tls'] {
  if (tlsName === null) return ca === undefined ? undefined : { ca }
  return ca === undefined ? { serverName: tlsName } : { serverName: tlsName, ca }
}

/** A write may have taken effect although no response came, so only reads are tried at the next address. */
function isRepeatable({ method = 'GET', isWrite = false }: OutboundRequest): boolean {
  return !isWrite && (method === 'GET' || method === 'HEAD')
}

/** The addresses of a host that may be connected to: remembered, given, or looked up now. */
function addressesOf(
  origin: Origin,
  deadline: Deadline,
  options: GuardedFetchOptions,
): CheckedAddresses | Promise<CheckedAddresses> {
  return options.addressBook?.remembered(origin.text) ?? lookedUp(origin, deadline, options)
}

function lookedUp(origin: Origin, deadline: Deadline, options: GuardedFetchOptions): Promise<CheckedAddresses> {
  const { resolver = systemResolver, addressBook } = options
  const lookUp = async () => {
    const { hostname, isAddress } = origin
    const found = isAddress ? [hostname.replace(/^\[(.*)\]$/, '$1')] : await resolver(hostname)
    return checked(origin, found, options)
  }
  return beforeEnd(addressBook ? addressBook.find(origin.text, lookUp) : lookUp(), deadline)
}

/** A host's addresses, IPv4 first, if every one of them is allowed: a name that mixes public and private addresses is an attack. */
function checked({ host, port }: Origin, found: readonly string[], { permits }: GuardedFetchOptions): CheckedAddresses {
  if (found.length === 0) return err({ kind: 'unreachable', reason: `${host} has no address` })
  const addresses: string[] = []
  for (const text of found) {
    const address = publicAddress(text)
    if (address) addresses.push(formatAddress(address))
    else if (permits?.(text, port)) addresses.push(text)
    else return err({ kind: 'forbidden_address', reason: `${host} is at ${text.slice(0, 50)}, which is not public` })
  }
  const four = addresses.filter((address) => !address.includes(':'))
  const six = addresses.filter((address) => address.includes(':'))
  return ok([...four, ...six].slice(0, MAX_ADDRESSES))
}

/** The URL with an address in the place of its host's name. */
function numbered({ href, origin: { text, protocol, hostname, host } }: Target, address: string): string {
  const numeric = address.includes(':') ? `[${address}]` : address
  if (numeric === hostname) return href
  return `${protocol}//${numeric}${host.slice(hostname.length)}${href.slice(text.length)}`
}

/** Applies the deadline to a promise that ignores it. */
async function beforeEnd<T>(
  work: Promise<Result<T, OutboundProblem>>,
  deadline: Deadline,
): Promise<Result<T, OutboundProblem>> {
  const { signal } = deadline
  const ended = Promise.withResolvers<'ended'>()
  const end = () => ended.resolve('ended')
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    const done = await Promise.race([work.then((value) => ({ value })), ended.promise])
    return done === 'ended' ? err(deadline.problem('timeout', 'ended')) : done.value
  } catch {
    return err(deadline.problem('unreachable', 'the host name could not be resolved'))
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Asks the system's resolver, including `/etc/hosts`; its results are checked like all others. */
async function systemResolver(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}
