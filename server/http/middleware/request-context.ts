import { type Address, limitSubject, parseAddress, UNKNOWN_ADDRESS } from '../../core/credentials/address'
import type { Failure } from '../../core/failure'
import type { AccountId, KeyId } from '../../core/ids'
import type { Journal } from '../../core/ledger/journal'
import type { ShownPayment } from '../../core/payments/method'
import { type AuthDeps, authenticate, reauthorize } from '../../pipeline/auth/authenticate'
import type { AuthenticatedCall, Credential, IncomingCall, Route } from '../../pipeline/call'
import { routeOf } from '../routing/endpoints'
import { clientAddress, type ProxyTrust } from './client-address'
import { isFromThisMachine } from './from-this-machine'
import type { Intake } from './intake'
import { normalizedUrl } from './normalize-url'
import { readCredential } from './read-credential'
import { Reply } from './reply'
import { type RequestIds, requestIds } from './request-ids'

export interface FrontDeskOptions {
  readonly auth: AuthDeps
  readonly journal: Pick<Journal, 'note'>
  readonly intake: Intake
  readonly proxies: ProxyTrust
  /** Told once of each reason why the address of a call is unknown. */
  readonly onUnknownAddress: (problem: string) => void
  /** Public origin. */
  readonly baseUrl: string
}

/** What is known of any request before its route is: ids, and the address it truly came from. */
export interface Arrival {
  readonly ids: RequestIds
  readonly address: Address
  readonly at: number
  readonly url: URL
  /** Whether it was made on this machine and came past no proxy. */
  readonly isFromThisMachine: boolean
}

/** What a request of our own making goes by. */
interface Inner {
  readonly credential: Credential
  readonly address: Address
  /** Of the call that it is a part of; null when it is judged like any other. */
  readonly authenticated: AuthenticatedCall | null
}

/** The part of Bun's server that tells who is at the other end. Null in a call that came over no socket. */
export type Sockets = { requestIP(request: Request): { readonly address: string } | null } | null

const IN_PROCESS: Address = { family: 4, bits: 0x7f000001 }

/** Takes in requests: names them, finds their address, and, for the gated prefixes, brings them to the door. */
export class FrontDesk {
  private readonly options: FrontDeskOptions
  private readonly arrivals = new WeakMap<Request, Arrival>()
  private readonly exchanges = new WeakMap<Request, Reply>()
  private readonly inner = new WeakMap<Request, Inner>()
  private readonly problems = new Set<string>()
  private readonly received = new WeakMap<Request, { readonly original: Request; readonly badHost: boolean }>()

  constructor(options: FrontDeskOptions) {
    this.options = options
  }

  /** The request as the router can read it; nearly always the one that came. */
  receive(original: Request): Request {
    const mended = normalizedUrl(original)
    if (!mended) return original
    const { method, headers, body, signal } = original
    const request = new Request(mended.url, { method, headers, body, signal })
    this.received.set(request, { original, badHost: mended.badHost })
    return request
  }

  /** The request as it came, which is the one that the server knows. */
  original(request: Request): Request {
    return this.received.get(request)?.original ?? request
  }

  /** Whether the request named a host that is none. */
  hasBadHost(request: Request): boolean {
    // Two Host headers reach us as one, joined by a comma (RFC 9112 section 3.2).
    return (this.received.get(request)?.badHost ?? false) || (request.headers.get('host')?.includes(',') ?? false)
  }

  /** Lets a request of our own making go by this key, as if it came from where `from` came from. */
  lend(request: Request, key: KeyId, from: Request): void {
    this.inner.set(request, {
      credential: { kind: 'own_key', id: key },
      address: this.arrival(from).address,
      authenticated: null,
    })
  }

  /**
   * Lets a request of our own making go on the admission of the one it is a part of: who calls was judged and its request was
   * counted there. What the caller may do is judged again, for the new address.
   */
  lendAdmission(request: Request, { incoming, authenticated }: Reply, from: Request): void {
    this.inner.set(request, { credential: incoming.credential, address: this.arrival(from).address, authenticated })
  }

  /** Lets a request of our own making be paid for by what `from` brought along: it is judged like any other. */
  lendPayment(request: Request, shown: ShownPayment, from: Request): void {
    this.inner.set(request, {
      credential: { kind: 'payment', shown },
      address: this.arrival(from).address,
      authenticated: null,
    })
  }

  arrive(request: Request, sockets: Sockets): Arrival {
    const at = this.options.auth.clock.now()
    const { original } = this.received.get(request) ?? { original: request }
    const peer = sockets ? parseAddress(sockets.requestIP(original)?.address ?? '') : IN_PROCESS
    const socket = peer ?? UNKNOWN_ADDRESS
    const { address, problem } = clientAddress(socket, request.headers, this.options.proxies)
    if (problem !== null) this.tellOnce(problem)
    const url = new URL(request.url)
    const arrival = {
      ids: requestIds(request.headers, at),
      address: this.inner.get(request)?.address ?? address,
      at,
      url,
      isFromThisMachine: isFromThisMachine(socket, request.headers, sockets ? null : url.host),
    }
    this.arrivals.set(request, arrival)
    if (mayBringBody(request)) this.options.intake.expect(request, `address ${limitSubject(arrival.address)}`)
    return arrival
  }

  private tellOnce(problem: string): void {
    if (this.problems.has(problem)) return
    this.problems.add(problem)
    this.options.onUnknownAddress(problem)
  }

  /** Counts what a request brings on this account, once that is known to be the one that sends it. */
  countBodyOn(request: Request, account: AccountId): void {
    if (mayBringBody(request)) this.options.intake.expect(request, `account ${account}`)
  }

  /** The arrival of a request that was taken in. */
  arrival(request: Request): Arrival {
    return this.arrivals.get(request) ?? this.arrive(request, null)
  }

  /** Brings a gated request to the door. With `closed`, that is the verdict: windows are read, nothing is taken. */
  async open(
    request: Request,
    path: string,
    { ids, address, at }: Arrival,
    closed: Failure | null = null,
    goal = routeOf(request.method, path),
  ): Promise<Reply> {
    const { auth, journal, baseUrl } = this.options
    const inner = this.inner.get(request)
    const route: Route = closed ? { kind: 'unmatched', failure: closed } : goal
    const incoming: IncomingCall = {
      id: ids.own,
      clientRequestId: ids.client,
      at,
      credential: inner?.credential ?? readCredential(request.headers, path, route),
      address,
      request,
      route,
    }
    const verdict = inner?.authenticated
      ? reauthorize(inner.authenticated, incoming)
      : await authenticate(auth, incoming)
    const found = verdict.ok ? verdict.value : verdict.error
    if (found.caller.kind !== 'anonymous') this.countBodyOn(request, found.caller.account.id)
    const reply = new Reply({ verdict: found, ids, path, journal, now: () => auth.clock.now(), origin: baseUrl })
    this.exchanges.set(request, reply)
    return reply
  }

  /** Counts a request on its address that was let in uncounted, because what pays might have stood in its body (`paymentInBody`). */
  count(request: Request): Promise<Reply> {
    const arrival = this.arrival(request)
    return this.open(request, arrival.url.pathname, arrival, null, { kind: 'public' })
  }

  /** The exchange of a gated request, when the door came as far as opening one. */
  find(request: Request): Reply | null {
    return this.exchanges.get(request) ?? null
  }

  /** The exchange of a call that the door let in, with what it found out. A call that was turned away reaches no route. */
  passed(request: Request): { readonly reply: Reply; readonly authenticated: AuthenticatedCall } {
    const reply = this.reply(request)
    const { authenticated } = reply
    if (!authenticated) throw new Error('a call that was turned away reached its route')
    return { reply, authenticated }
  }

  /** The exchange of a request that passed the door; a route behind it cannot run otherwise. */
  reply(request: Request): Reply {
    const reply = this.exchanges.get(request)
    if (!reply) throw new Error('a gated route ran without passing the door')
    return reply
  }
}

function mayBringBody({ method }: Request): boolean {
  return method !== 'GET' && method !== 'HEAD'
}
