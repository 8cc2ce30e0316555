import { Elysia, type ElysiaConfig } from 'elysia'
import type { Clock } from '../../core/clock'
import { type Address, limitSubject, parseAddress, UNKNOWN_ADDRESS } from '../../core/credentials/address'
import type { Failure } from '../../core/failure'
import type { AccountId, KeyId } from '../../core/ids'
import type { Readings, Subject } from '../../core/limits/limiter'
import type { Result } from '../../core/result'
import type { AuthenticatedCall, Caller } from '../../pipeline/call'
import { isFromThisMachine } from './caller/client-address'
import type { BodyOwner, BodySource, Intake } from './input/intake'
import { readJson } from './input/json-body'
import { type RequestIds, requestIds } from './request-ids'
import type { Reply } from './response/reply'

/** The part of Bun's server that a request needs. Null for an in-process call. */
export type BunServer = {
  requestIP(request: Request): { readonly address: string } | null
  timeout(request: Request, seconds: number): void
} | null

/** How long an idle connection stays open, as in `listen.ts`. */
const IDLE_SECONDS = 60

/** The signed-in user of requests to the owner's API. */
const OWNERS = new WeakMap<Request, AccountId>()

/** Whom the bytes of an answer of the owner's API count against. */
export function ownerOf(request: Request): string {
  return OWNERS.get(request) ?? 'strangers'
}

/** Where a request comes from that is not as it was received. */
export interface RequestOrigin {
  /** The request that it is made from: as received, or the one of which it is a part. */
  readonly received?: Request
  /** Whether its Host is invalid: a 400 by RFC 9112 3.2. HTTP/1.0 may omit the Host. */
  readonly hasBadHost?: boolean
  /** Whether it came over the control socket: access to the data folder makes its sender an operator (`CONSOLE`). */
  readonly isConsole?: boolean
  /** The address of its connection, where a worker has that and passed the request on. */
  readonly peer?: Address
  /** The key with which its signed-in owner tries a call, without its secret (which is not stored), and the owner's address. */
  readonly ownKey?: { readonly id: KeyId; readonly address: Address }
}

const ORIGINS = new WeakMap<Request, RequestOrigin>()
const AS_RECEIVED: RequestOrigin = {}

/** The request with its origin, for the context that it gets. */
export function withOrigin(request: Request, origin: RequestOrigin): Request {
  ORIGINS.set(request, origin)
  return request
}

const NO_KEYS: readonly string[] = []
const UNPACED = async () => undefined

/** The state of one request. Available on Elysia's context as `context`, from `onRequest` to `onError`. */
export class RequestContext implements BodySource {
  readonly request: Request
  readonly origin: RequestOrigin
  readonly intake: Intake
  ids: RequestIds
  /** The client's address, behind trusted proxies. */
  readonly address: Address
  readonly at: number
  readonly path: string
  /** Set once the call is authenticated; never for a path that is not gated. */
  reply: Reply | null = null
  authenticated: AuthenticatedCall | null = null
  /** The window that it counts in, and its state; null until it is counted. A gated path has those of its reply. */
  counted: Subject | null = null
  readings: Readings | null = null
  /** Takes what more rows of a download cost from that window, and waits while too little is left. */
  pace: (rows: number) => Promise<void> = UNPACED
  private account: AccountId | null = null
  private readonly socket: Address
  private readonly server: BunServer
  /** Read when it is first asked for: a call of a fixed path needs none. */
  private parsedUrl: URL | null = null
  private keys = NO_KEYS
  private isSilent = false

  constructor(request: Request, server: BunServer, deps: ContextDeps) {
    const { clock, intake, addressOf } = deps
    const at = clock.now()
    const origin = ORIGINS.get(request) ?? AS_RECEIVED
    // Bun's server does not know the connections of the control socket.
    const network = origin.isConsole ? null : server
    const socket = network ? connectionOf(request, origin, network) : IN_PROCESS
    this.request = request
    this.origin = origin
    this.intake = intake
    this.ids = requestIds(request.headers, at)
    this.address = origin.ownKey ? origin.ownKey.address : addressOf(socket, request.headers)
    this.at = at
    this.path = pathOf(request.url)
    this.socket = socket
    this.server = network
  }

  /** Without the keys that `queryKeys` took out of it. */
  get url(): URL {
    if (this.parsedUrl) return this.parsedUrl
    this.parsedUrl = new URL(this.request.url)
    this.keys = keysTakenFrom(this.parsedUrl)
    return this.parsedUrl
  }

  /** Keys that Google's older clients send as `?key=`. */
  get queryKeys(): readonly string[] {
    return this.path.startsWith(KEYED_PATH) && this.url ? this.keys : NO_KEYS
  }

  get search(): string {
    return this.path.startsWith(KEYED_PATH) ? this.url.search : searchOf(this.request.url)
  }

  get method(): string {
    return this.request.method
  }

  get hangUp(): AbortSignal {
    return this.request.signal
  }

  header(name: string): string | null {
    return this.request.headers.get(name)
  }

  body(): Promise<Result<unknown, Failure>> {
    return readJson(this)
  }

  /** Whether it came from this machine without a proxy. */
  get isFromThisMachine(): boolean {
    return isFromThisMachine(this.socket, this.request.headers, this.server ? null : this.url.host)
  }

  get bodyOwner(): BodyOwner {
    if (this.origin.isConsole) return 'address control socket'
    return this.account === null ? `address ${limitSubject(this.address)}` : `account ${this.account}`
  }

  /** Counts the body against this account, once it is known who sends it. */
  countBodyOn(account: AccountId): void {
    this.account = account
  }

  /** The same, and its answer if that is large. */
  countOn(account: AccountId): void {
    this.countBodyOn(account)
    OWNERS.set(this.request, account)
  }

  /** Disables the idle timeout of the connection, for calls that have their own deadlines. */
  allowSilence(): void {
    this.isSilent = true
    this.server?.timeout(original(this.request), 0)
  }

  /** Enables it again, if it is disabled: from here on it is the turn of the reader, who is disconnected if it takes nothing. */
  awaitReader(): void {
    if (this.isSilent) this.server?.timeout(original(this.request), IDLE_SECONDS)
    this.isSilent = false
  }

  /** The same, unless the answer sends events. */
  endSilence(answer: Response): Response {
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) this.awaitReader()
    return answer
  }
}

export interface GatedContext<C extends Caller = Caller> extends RequestContext {
  reply: Reply
  authenticated: AuthenticatedCall & { readonly caller: C }
}

export interface ContextDeps {
  readonly clock: Clock
  readonly intake: Intake
  /** The client's address, from the socket's and the headers of trusted proxies. */
  readonly addressOf: (socket: Address, headers: Headers) => Address
}

/** The path of a URL that is absolute and normalized, as `Request` has it. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const query = url.indexOf('?', start)
  const path = query < 0 ? url.slice(start) : url.slice(start, query)
  const fragment = path.indexOf('#')
  return fragment < 0 ? path : path.slice(0, fragment)
}

function searchOf(url: string): string {
  const start = url.indexOf('?')
  const fragment = url.indexOf('#')
  if (start < 0 || (fragment >= 0 && fragment < start)) return ''
  return fragment < 0 ? url.slice(start) : url.slice(start, fragment)
}

/** Where Google's clients may send keys in the query. */
const KEYED_PATH = '/v1beta'

/** Removes the keys from the query of Google's paths, which take them there, so that no log, trace or fingerprint has them. */
function keysTakenFrom(url: URL): readonly string[] {
  if (url.search === '' || !/^\/v1beta(\/|$)/.test(url.pathname)) return NO_KEYS
  const keys = url.searchParams.getAll('key')
  if (keys.length > 0) url.searchParams.delete('key')
  return keys
}

/** The address of the connection that a request came over. */
function connectionOf(request: Request, { received, peer }: RequestOrigin, server: NonNullable<BunServer>): Address {
  if (received) return connectionOf(received, ORIGINS.get(received) ?? AS_RECEIVED, server)
  return peer ?? parseAddress(server.requestIP(request)?.address ?? '') ?? UNKNOWN_ADDRESS
}

const IN_PROCESS: Address = { family: 4, bits: 0x7f000001 }

/** The original request, which is the one that Bun's server knows. */
function original(request: Request): Request {
  const received = ORIGINS.get(request)?.received
  return received ? original(received) : request
}

// A placeholder for the type: the request hooks set a context before any route runs.
const NOT_YET = {} as RequestContext

/** A group of routes whose handlers get the request's context as `context`. */
export function routeGroup<const Prefix extends string = ''>(config: ElysiaConfig<Prefix> & { readonly name: string }) {
  return new Elysia(config).decorate('context', NOT_YET)
}
