import { type Account, suspensionProblem } from '../../core/accounts/account'
import { mayCallImported } from '../../core/apis/api-routes'
import type { Clock } from '../../core/clock'
import { type Address, formatAddress, limitSubject } from '../../core/credentials/address'
import { type ApiKey, keyState } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import { type Failure, failure } from '../../core/failure'
import type { Limiter, LimitRefusal, Readings, Subject } from '../../core/limits/limiter'
import { type Limits, limitsOf, tierOf, withKeyLimits } from '../../core/limits/tier'
import { type Money, ZERO } from '../../core/money'
import type { Result } from '../../core/result'
import type {
  AuthenticatedCall,
  Caller,
  Credential,
  Identified,
  IncomingCall,
  KnownCaller,
  Refused,
  Route,
  Verdict,
} from '../call'
import { type AppAuthDeps, identifyApp, isAddressFull, scopeProblem } from './authenticate-app'

export interface AuthDeps extends AppAuthDeps {
  readonly credentials: CredentialStore
  readonly clock: Clock
  /** What an address may send where it needs no credential, in units per minute. */
  readonly visitorLimits: Limits
  /** Payment credentials that an address may try per minute. Valid ones are not counted. */
  readonly paymentAttemptsPerMinute: number
}

/**
 * The first half of every gated call (spec D2): credential, key state, address, permission and rate limit, in this
 * order. It runs before the input is read, so that every response can carry the limit headers. The request counts in the
 * window of a known key or app whatever the result; with a payment it counts in a window for payments, and for any other
 * caller in the window of the address. Paths without a route count nowhere.
 */
export function authenticate(auth: AuthDeps, incoming: IncomingCall): Verdict | Promise<Verdict> {
  const identified = identify(auth, incoming)
  return identified instanceof Promise ? admitLater(auth, incoming, identified) : admit(auth, incoming, identified)
}

async function admitLater(auth: AuthDeps, incoming: IncomingCall, identifying: Promise<Identified>): Promise<Verdict> {
  return admit(auth, incoming, await identifying)
}

function admit(auth: AuthDeps, incoming: IncomingCall, { caller, subjects, refused }: Identified): Verdict {
  if (incoming.route.kind === 'unmatched')
    return refuse(incoming, caller, incoming.route.failure, auth.limiter.read(subjects))
  if (paymentInBody(incoming)) return admitUnread(auth, incoming, subjects)
  const overLimit = auth.limiter.countRequest(subjects)
  const readings = overLimit ? overLimit.readings : auth.limiter.read(subjects)
  if (caller.kind !== 'anonymous') {
    noteUse(auth, caller, incoming)
    const problem =
      suspensionProblem(caller.account) ??
      (caller.kind === 'key' ? keyProblem(caller.key, incoming) : scopeProblem(caller, incoming.route))
    if (problem) return refuse(incoming, caller, problem, readings)
  }
  if (overLimit) return refuse(incoming, caller, limitFailure(overLimit, caller), readings)
  if (refused) return refuse(incoming, caller, refused, readings)
  return { incoming, caller, subjects, readings }
}

/** A stranger's message is counted once it is read, so reading it takes a unit of another window. */
function admitUnread(
  { limiter, visitorLimits }: AuthDeps,
  incoming: IncomingCall,
  subjects: readonly Subject[],
): Verdict {
  const caller = { kind: 'anonymous' } as const
  const overLimit = limiter.countRequest([visits(incoming.address, visitorLimits, 1)])
  if (overLimit) return refuse(incoming, caller, limitFailure(overLimit, caller), overLimit.readings)
  return { incoming, caller, subjects, readings: limiter.read(subjects) }
}

/** The window of an address for what needs no credential. */
export function visits(address: Address, limits: Limits, cost: number): Subject {
  return { name: `visits of ${limitSubject(address)}`, limits, cost }
}

function refuse(incoming: IncomingCall, caller: Caller, problem: Failure, readings: Readings): Refused {
  return { incoming, caller, failure: problem, readings }
}

/**
 * Authorizes one part of an authenticated call: the same caller on another route. The caller is not looked up or counted again.
 * Its permission for the route is checked, and the request counts in the route's own window, if it has one (spec 8).
 */
export function reauthorize(
  auth: Pick<AuthDeps, 'freeUnitsPerMinute'> & { readonly limiter: Pick<Limiter, 'countRequest'> },
  authenticated: AuthenticatedCall,
  incoming: IncomingCall,
): Verdict {
  const { caller, subjects } = authenticated
  const { route } = incoming
  const problem = route.kind === 'unmatched' ? route.failure : accessProblem(caller, route)
  if (problem) return refuse(incoming, caller, problem, authenticated.readings)
  const all = withOverride(auth, subjects, incoming, caller)
  if (all.length === subjects.length) return { ...authenticated, incoming }
  const overLimit = auth.limiter.countRequest(all.slice(subjects.length))
  if (overLimit) return refuse(incoming, caller, limitFailure(overLimit, caller), overLimit.readings)
  return { ...authenticated, incoming, subjects: all }
}

export function accessProblem(caller: Caller, route: Route): Failure | null {
  if (caller.kind === 'app') return scopeProblem(caller, route)
  if (caller.kind === 'anonymous') return isForAnybody(route) ? null : NEEDS_KEY
  return listProblem(caller.key, route)
}

function identify(auth: AuthDeps, incoming: IncomingCall): Identified | Promise<Identified> {
  const { credential, address, route } = incoming
  if (credential.kind === 'none') return anonymous(auth, address, isForAnybody(route) ? null : NEEDS_KEY)
  if (credential.kind === 'payment') {
    // Verifying one costs a signature check and a network request, so attempts have a window of their own.
    const limits = { ...auth.anonymousLimits, rpm: auth.paymentAttemptsPerMinute }
    const subjects = [{ name: `payments of ${limitSubject(address)}`, limits }]
    const takes = isForAnybody(route) || (route.kind === 'free' && route.takesPayment)
    return { caller: { kind: 'anonymous' }, subjects, refused: takes ? null : NEEDS_KEY }
  }
  return credential.kind === 'oauth_token'
    ? identifyToken(auth, incoming, credential)
    : identifyKey(auth, incoming, credential)
}

type TokenCredential = Extract<Credential, { kind: 'oauth_token' }>

function identifyToken(
  auth: AuthDeps,
  incoming: IncomingCall,
  credential: TokenCredential,
): Identified | Promise<Identified> {
  const finding = identifyApp(auth, credential, incoming)
  return finding instanceof Promise
    ? finding.then((found) => appHolder(auth, incoming, found))
    : appHolder(auth, incoming, finding)
}

function appHolder(auth: AuthDeps, incoming: IncomingCall, found: Result<Identified, Failure>): Identified {
  if (!found.ok) return anonymous(auth, incoming.address, found.error)
  const { caller, subjects } = found.value
  return { ...found.value, subjects: withOverride(auth, subjects, incoming, caller) }
}

type KeyCredential = Extract<Credential, { kind: 'own_key' | 'api_key' }>

/** A key whose holder is in memory is identified at once. */
function identifyKey(
  auth: AuthDeps,
  incoming: IncomingCall,
  credential: KeyCredential,
): Identified | Promise<Identified> {
  const hash = credential.kind === 'api_key' ? credential.hash : null
  const key = hash === null ? null : auth.credentials.known(hash)
  const account = key && auth.accounts.known(key.accountId)
  const toppedUp = key && auth.ledger.toppedUp(key.accountId)
  const isHere = key && account && toppedUp !== null && keyState(key, incoming.at) !== 'revoked'
  return isHere ? holder(auth, incoming, key, account, toppedUp) : lookUp(auth, incoming, credential, hash)
}

async function lookUp(
  auth: AuthDeps,
  incoming: IncomingCall,
  credential: KeyCredential,
  hash: string | null,
): Promise<Identified> {
  const { credentials, accounts, ledger } = auth
  const { address, at } = incoming
  const byHash = async () => {
    // A look-up costs a query, so a caller who guesses keys is stopped by the window of its address first. A key in use is not.
    const isAllowed = hash !== null && (credentials.isInMemory(hash) || !isAddressFull(auth, address))
    return isAllowed ? credentials.byHash(hash) : null
  }
  const key = await (credential.kind === 'own_key' ? credentials.byId(credential.id) : byHash())
  if (!key || keyState(key, at) === 'revoked') return anonymous(auth, address, unknownKey(credential))
  const account = await accounts.byId(key.accountId)
  const balance = await ledger.balance(key.accountId)
  if (!account) throw new Error(`key ${key.id} belongs to no account`)
  return holder(auth, incoming, key, account, balance?.toppedUp ?? ZERO)
}

/** The holder of a key, as long as key, account and top-ups stay the same: then the limits do, too. */
interface Holder {
  readonly account: Account
  readonly toppedUp: Money
  readonly identified: Identified
}

const HOLDERS = new WeakMap<ApiKey, Holder>()

function holder(auth: AuthDeps, incoming: IncomingCall, key: ApiKey, account: Account, toppedUp: Money): Identified {
  const known = HOLDERS.get(key)
  const { identified } =
    known?.account === account && known.toppedUp === toppedUp ? known : newHolder(key, account, toppedUp)
  const { caller, subjects } = identified
  const all = withOverride(auth, subjects, incoming, caller)
  return all === subjects ? identified : { ...identified, subjects: all }
}

function newHolder(key: ApiKey, account: Account, toppedUp: Money): Holder {
  const facts = { ...account, toppedUp }
  const limits = withKeyLimits(limitsOf(facts), key)
  const caller = { kind: 'key', key, account, tier: tierOf(facts) } as const
  const holder = { account, toppedUp, identified: { caller, subjects: [{ name: key.id, limits }], refused: null } }
  HOLDERS.set(key, holder)
  return holder
}

function anonymous({ anonymousLimits }: AuthDeps, address: Address, refused: Failure | null): Identified {
  const subjects = [{ name: limitSubject(address), limits: anonymousLimits }]
  return { caller: { kind: 'anonymous' }, subjects, refused }
}

/** Adds the endpoint's own window to the caller's, if it has one (spec 8), or that of its account for free work that costs more. */
function withOverride(
  { freeUnitsPerMinute: rpm }: Pick<AuthDeps, 'freeUnitsPerMinute'>,
  subjects: readonly Subject[],
  { route, request }: IncomingCall,
  caller: Caller,
): readonly Subject[] {
  const name = subjects[0]?.name
  if (name === undefined) return subjects
  if (route.kind === 'priced') return route.window ? [...subjects, windowOf(name, route.window)] : subjects
  if (route.kind !== 'free' || !route.units || caller.kind === 'anonymous') return subjects
  const cost = route.units(request.url)
  return [...subjects, { ...windowOf(caller.account.id, { name: 'free work', rpm }), cost, owner: 'account' }]
}

const UNKNOWN_KEY = failure(
  'invalid_api_key',
  'This API key does not exist or was revoked. Check it for missing characters.',
)

function unknownKey(credential: KeyCredential): Failure {
  const problem = credential.kind === 'api_key' ? credential.problem : null
  return problem === null ? UNKNOWN_KEY : failure('invalid_api_key', `This is not a valid API key. ${problem}`)
}

const NEEDS_KEY = failure('missing_api_key', 'This route needs an API key: send Authorization: Bearer <API_KEY>.')

/** Whether a caller without a key may go on, to be asked for a payment. An unmatched path is reported as such instead. */
function isForAnybody(route: Route): boolean {
  const { kind } = route
  return kind === 'unmatched' || kind === 'public' || (kind === 'priced' && route.payable === true)
}

function paymentInBody({ credential, route }: IncomingCall): boolean {
  return credential.kind === 'none' && route.kind === 'public' && route.paymentInBody === true
}

/** A second window of a key, which counts requests only (spec D9). */
export function windowOf(key: string, { name, rpm }: { readonly name: string; readonly rpm: number }): Subject {
  return {
    name: `${key}/${name}`,
    limits: { rpm, tpm: Number.POSITIVE_INFINITY, concurrency: Number.POSITIVE_INFINITY },
  }
}

function noteUse(auth: AuthDeps, caller: KnownCaller, { at, address }: IncomingCall): void {
  if (caller.kind === 'key') auth.credentials.touch(caller.key.id, at)
  else auth.apps.touch(caller.grant.id, { at, address: formatAddress(address) })
}

const NOT_IN_LIST = failure('insufficient_permissions', "This endpoint is not in this key's list of allowed endpoints.")

const NEEDS_LIST = failure(
  'insufficient_permissions',
  "This operation changes something at its upstream. Add it to this key's list of allowed endpoints to call it.",
)

function keyProblem(key: ApiKey, { at, address, route }: IncomingCall): Failure | null {
  const state = keyState(key, at)
  if (state === 'disabled') return failure('api_key_disabled', 'This API key is disabled. Enable it in the dashboard.')
  if (state === 'expired')
    return failure('expired_api_key', 'This API key has expired. Extend it or create a new one in the dashboard.')
  if (key.allowlist && !key.allowlist.includes(address))
    return failure('ip_not_allowed', `${formatAddress(address)} is not in this key's list of allowed addresses.`)
  return listProblem(key, route)
}

function listProblem(key: ApiKey, route: Route): Failure | null {
  if (route.kind !== 'priced') return null
  const { allowedEndpoints } = key
  if (!route.match)
    return allowedEndpoints.length === 0 || allowedEndpoints.includes(route.operation) ? null : NOT_IN_LIST
  if (mayCallImported(key, route.match)) return null
  return allowedEndpoints.length === 0 ? NEEDS_LIST : NOT_IN_LIST
}

export function limitFailure(refusal: LimitRefusal, caller: Pick<Caller, 'kind'>): Failure {
  const what = { requests: 'requests per minute', tokens: 'tokens per minute', slots: 'concurrent requests' }
  const whose = refusal.subject?.owner ?? (caller.kind === 'anonymous' ? 'address' : caller.kind)
  // No number of seconds: `retry_after` has it, and the dashboard counts it down.
  return failure(
    'rate_limit_exceeded',
    `This ${whose} has reached its limit of ${what[refusal.dimension]}. Wait as long as Retry-After says, then try again.`,
    { retryAfterSeconds: refusal.retryAfterSeconds, limitSource: whose },
  )
}
