import { lookup } from 'node:dns/promises'
import { formatAddress } from '../../core/credentials/address'
import type {
  OutboundAnswer,
  OutboundFetch,
  OutboundProblem,
  OutboundRequest,
  OutboundStreamFetch,
} from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { AddressBook, CheckedAddresses } from './address-book'
import { Deadline, type Hop, isRedirect, oneHop, openHop } from './one-hop'
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

type BoundedRequest = OutboundRequest & { readonly deadline: Deadline }
type SendHop<T> = (hop: Hop) => Promise<Result<T, OutboundProblem>>

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
    const first = callable(request.url)
    if (!first) return err(BAD_URL)
    const bounded = { ...request, deadline: new Deadline(request.timeoutMs, request.signal) }
    const canFollow = (request.method ?? 'GET') === 'GET' || request.method === 'HEAD'
    const maxRedirects = canFollow ? (request.maxRedirects ?? 0) : 0
    if (maxRedirects === 0) return visit(first, true, bounded, options, oneHop)
    return follow(first, maxRedirects, bounded, options)
  }
}

async function follow(
  first: URL,
  maxRedirects: number,
  request: BoundedRequest,
  options: GuardedFetchOptions,
): Promise<Result<OutboundAnswer, OutboundProblem>> {
  let url = first
  for (let followed = 0; ; followed++) {
    const hopped = await visit(url, url.origin === first.origin, request, options, oneHop)
    if (!hopped.ok || !isRedirect(hopped.value)) return hopped
    if (followed === maxRedirects)
      return err({ kind: 'too_many_redirects', reason: `${first.host} redirected more than ${maxRedirects} times` })
    const next = callable(hopped.value.headers.get('location') ?? '', url)
    if (!next) return err(BAD_URL)
    url = next
  }
}

/** The same for answers that go on for long: the same checks, and no redirects. */
export function openGuardedStreams(options: GuardedFetchOptions): OutboundStreamFetch {
  return async (request) => {
    const url = callable(request.url)
    if (!url) return err(BAD_URL)
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(), request.timeoutMs)
    const deadline = new Deadline(stop.signal, request.signal)
    try {
      return await visit(url, true, { ...request, deadline }, options, (hop) => openHop(hop, () => stop.abort()))
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Parses a URL that may be called (http or https, a usual port, no user name), else null. The URL parser has already normalized numeric hosts. */
function callable(text: string, base?: URL): URL | null {
  const url = URL.parse(text, base)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') return null
  if (url.username !== '' || url.password !== '') return null
  const port = portOf(url)
  return port === 80 || port === 443 || (port >= MIN_HIGH_PORT && !OTHER_PROTOCOLS.has(port)) ? url : null
}

function portOf(url: URL): number {
  return url.port !== '' ? Number(url.port) : url.protocol === 'https:' ? 443 : 80
}

async function visit<T>(
  url: URL,
  isFirstOrigin: boolean,
  request: BoundedRequest,
  options: GuardedFetchOptions,
  sendHop: SendHop<T>,
): Promise<Result<T, OutboundProblem>> {
  const { deadline } = request
  if (request.mayVisit) {
    const may = await beforeEnd(Promise.resolve(request.mayVisit(url, deadline.signal)).then(ok), deadline)
    if (!may.ok) return may
    if (!may.value) return err({ kind: 'not_allowed', reason: `${url.host} does not allow this URL to be fetched` })
  }
  const finding = addressesOf(url, deadline, options)
  const addresses = finding instanceof Promise ? await finding : finding
  if (!addresses.ok) return addresses
  const headers = new Headers(isFirstOrigin ? request.headers : {})
  headers.set('user-agent', options.userAgent)
  const keepAlive = isRepeatable(request) && (options.addressBook !== undefined || isAddress(url))
  let last: Result<T, OutboundProblem> | null = null
  for (const address of addresses.value) {
    last = await sendHop({
      url,
      connectTo: numbered(url, address),
      keepAlive,
      method: request.method ?? 'GET',
      headers,
      ...(request.body !== undefined && { body: request.body }),
      maxBytes: request.maxBytes,
      ...(request.contentTypes && { contentTypes: request.contentTypes }),
      deadline,
      ...(options.ca && { ca: options.ca }),
    })
    if (last.ok || last.error.kind !== 'unreachable' || !isRepeatable(request)) break
  }
  if (!last) return err({ kind: 'unreachable', reason: `${url.host} has no address` })
  if (!last.ok && last.error.kind === 'unreachable') options.addressBook?.forget(url.origin)
  return last
}

/** A write may have taken effect although no response came, so only reads are tried at the next address. */
function isRepeatable({ method = 'GET', isWrite = false }: OutboundRequest): boolean {
  return !isWrite && (method === 'GET' || method === 'HEAD')
}

/** The addresses of a URL's host that may be connected to: remembered, given, or looked up now. */
function addressesOf(
  url: URL,
  deadline: Deadline,
  options: GuardedFetchOptions,
): CheckedAddresses | Promise<CheckedAddresses> {
  const { resolver = systemResolver, addressBook } = options
  const { origin } = url
  const remembered = addressBook?.remembered(origin)
  if (remembered) return ok(remembered)
  const lookUp = async () => {
    const { hostname } = url
    const found = isAddress(url) ? [hostname.replace(/^\[(.*)\]$/, '$1')] : await resolver(hostname)
    return checked(url, found, options)
  }
  return beforeEnd(addressBook ? addressBook.find(origin, lookUp) : lookUp(), deadline)
}

/** Whether a URL names its host by address. */
function isAddress({ hostname }: URL): boolean {
  return hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
}

/** A host's addresses, IPv4 first, if every one of them is allowed: a name that mixes public and private addresses is an attack. */
function checked(url: URL, found: readonly string[], { permits }: GuardedFetchOptions): CheckedAddresses {
  if (found.length === 0) return err({ kind: 'unreachable', reason: `${url.host} has no address` })
  const port = portOf(url)
  const addresses: string[] = []
  for (const text of found) {
    const address = publicAddress(text)
    if (address) addresses.push(formatAddress(address))
    else if (permits?.(text, port)) addresses.push(text)
    else
      return err({ kind: 'forbidden_address', reason: `${url.host} is at ${text.slice(0, 50)}, which is not public` })
  }
  const four = addresses.filter((address) => !address.includes(':'))
  const six = addresses.filter((address) => address.includes(':'))
  return ok([...four, ...six].slice(0, MAX_ADDRESSES))
}

/** The URL with an address in the place of its host's name, without a fragment. */
function numbered(url: URL, address: string): string {
  const hostname = address.includes(':') ? `[${address}]` : address
  if (url.hostname === hostname && !url.href.includes('#')) return url.href
  const { protocol, port, pathname, search } = url
  return `${protocol}//${hostname}${port && `:${port}`}${pathname}${search}`
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
