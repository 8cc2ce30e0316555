import type { Clock } from '../../core/clock'
import { formatAddress, limitSubject } from '../../core/credentials/address'
import { type ApiKey, keyState } from '../../core/credentials/api-key'
import { hashSecret, looksLikeSecret } from '../../core/credentials/secret'
import type { CredentialStore } from '../../core/credentials/store'
import { type Failure, failure } from '../../core/failure'
import type { LimitRefusal, Readings, Subject } from '../../core/limits/limiter'
import { limitsOf, lowered } from '../../core/limits/tier'
import { ZERO } from '../../core/money'
import { no, ok, type Result } from '../../core/result'
import type { Admitted, Caller, Credential, Destination, Identified, KnownCaller, Presented, TurnedAway } from '../call'
import { type AppDoor, identifyApp, scopeProblem } from './authenticate-app'

export interface Door extends AppDoor {
  readonly credentials: CredentialStore
  readonly clock: Clock
  /** Payment credentials that an address may try in a minute; those that turn out good are given back. */
  readonly paymentAttemptsPerMinute: number
}

/**
 * The first half of every gated call (spec-answers 2): credential, key state, address, permission, rate limit, in this
 * order. It runs before the input is looked at, so that every answer can carry the limit headers. One request comes off the
 * minute of a known key or app, whatever the verdict; a caller who is not known counts on the address.
 */
export async function authenticate(door: Door, presented: Presented): Promise<Result<Admitted, TurnedAway>> {
  const { caller, subjects, refused } = await identify(door, presented)
  const turnAway = (problem: Failure, readings: Readings) => no({ presented, caller, failure: problem, readings })
  if (presented.destination.kind === 'nowhere')
    return turnAway(presented.destination.failure, await door.limiter.read(subjects))
  if (paysInside(presented)) return ok({ presented, caller, subjects, readings: await door.limiter.read(subjects) })
  const counted = await door.limiter.countRequest(subjects)
  const readings = counted.ok ? counted.value : counted.error.readings
  if (caller.kind !== 'anonymous') {
    noteUse(door, caller, presented)
    const problem =
      caller.kind === 'key' ? keyProblem(caller.key, presented) : scopeProblem(caller, presented.destination)
    if (problem) return turnAway(problem, readings)
  }
  if (!counted.ok) return turnAway(limitFailure(counted.error, caller), readings)
  if (refused) return turnAway(refused, readings)
  return ok({ presented, caller, subjects, readings })
}

/**
 * The door for a part of a call that was let in: the same caller at another address. Nothing is looked up or counted again; what
 * the caller may do there is judged.
 */
export function reauthorize(admitted: Admitted, presented: Presented): Result<Admitted, TurnedAway> {
  const { caller, readings } = admitted
  const { destination } = presented
  const problem = destination.kind === 'nowhere' ? destination.failure : forbidden(caller, destination)
  return problem ? no({ presented, caller, failure: problem, readings }) : ok({ ...admitted, presented })
}

/** Why this caller may not go there, or null. */
export function forbidden(caller: Caller, destination: Destination): Failure | null {
  if (caller.kind === 'app') return scopeProblem(caller, destination)
  if (caller.kind === 'anonymous') return isForAnybody(destination) ? null : NEEDS_KEY
  return permits(caller.key, destination) ? null : NOT_IN_LIST
}

async function identify(door: Door, { credential, address, destination, at }: Presented): Promise<Identified> {
  const anonymous = (refused: Failure | null): Identified => ({
    caller: { kind: 'anonymous' },
    subjects: [{ name: limitSubject(address), limits: door.anonymousLimits }],
    refused,
  })
  if (credential.kind === 'none') return anonymous(isForAnybody(destination) ? null : NEEDS_KEY)
  if (credential.kind === 'payment') {
    // Judging one costs a signature and a question to the network, so tries are counted, apart from other requests.
    const limits = { ...door.anonymousLimits, rpm: door.paymentAttemptsPerMinute }
    const subjects = [{ name: `payments of ${limitSubject(address)}`, limits }]
    const takes = isForAnybody(destination) || (destination.kind === 'free' && destination.takesPayment)
    return { caller: { kind: 'anonymous' }, subjects, refused: takes ? null : NEEDS_KEY }
  }
  if (credential.kind === 'oauth_token') {
    const found = await identifyApp(door, credential, { address, at })
    if (!found.ok) return anonymous(found.error)
    return { ...found.value, subjects: withOverride(found.value.subjects, destination) }
  }
  const key = await keyOf(door, credential)
  if (!key || keyState(key, at) === 'revoked')
    return anonymous(failure('invalid_api_key', 'This API key is not known.'))
  const account = await door.accounts.byId(key.accountId)
  const balance = await door.ledger.balance(key.accountId)
  if (!account) throw new Error(`key ${key.id} belongs to no account`)
  const limits = lowered(limitsOf({ ...account, toppedUp: balance?.toppedUp ?? ZERO }), key)
  const subjects = withOverride([{ name: key.id, limits }], destination)
  return { caller: { kind: 'key', key, account }, subjects, refused: null }
}

/** With the window that the endpoint has beside the caller's own (spec 8). */
function withOverride(subjects: readonly Subject[], destination: Destination): readonly Subject[] {
  const name = subjects[0]?.name
  if (name === undefined || destination.kind !== 'priced' || !destination.window) return subjects
  return [...subjects, windowOf(name, destination.window)]
}

async function keyOf(
  door: Door,
  credential: Extract<Credential, { kind: 'own_key' | 'api_key' }>,
): Promise<ApiKey | null> {
  if (credential.kind === 'own_key') return door.credentials.byId(credential.id)
  return looksLikeSecret(credential.secret) ? door.credentials.byHash(hashSecret(credential.secret)) : null
}

const NEEDS_KEY = failure('missing_api_key', 'This route needs an API key: send Authorization: Bearer <API_KEY>.')

/** Whether somebody without a key may go on, to be asked for a payment. A wrong path is told as such first. */
function isForAnybody(destination: Destination): boolean {
  const { kind } = destination
  return kind === 'nowhere' || kind === 'open' || (kind === 'priced' && destination.payable === true)
}

function paysInside({ credential, destination }: Presented): boolean {
  return credential.kind === 'none' && destination.kind === 'open' && destination.paysInside === true
}

/** A window of a key's beside its own, for requests alone (spec-answers 9). */
export function windowOf(key: string, { name, rpm }: { readonly name: string; readonly rpm: number }): Subject {
  return {
    name: `${key}/${name}`,
    limits: { rpm, tpm: Number.POSITIVE_INFINITY, concurrency: Number.POSITIVE_INFINITY },
  }
}

function noteUse(door: Door, caller: KnownCaller, { at, address }: Presented): void {
  if (caller.kind === 'key') door.credentials.touch(caller.key.id, at)
  else door.apps.touch(caller.connection.id, { at, address: formatAddress(address) })
}

const NOT_IN_LIST = failure('insufficient_permissions', "This endpoint is not in this key's list of allowed endpoints.")

function keyProblem(key: ApiKey, { at, address, destination }: Presented): Failure | null {
  const state = keyState(key, at)
  if (state === 'disabled') return failure('api_key_disabled', 'This API key is switched off.')
  if (state === 'expired') return failure('expired_api_key', 'This API key has expired.')
  if (key.allowlist && !key.allowlist.includes(address))
    return failure('ip_not_allowed', `${formatAddress(address)} is not in this key's list of allowed addresses.`)
  return permits(key, destination) ? null : NOT_IN_LIST
}

function permits(key: ApiKey, destination: Destination): boolean {
  return (
    destination.kind !== 'priced' ||
    key.allowedEndpoints.length === 0 ||
    key.allowedEndpoints.includes(destination.operation)
  )
}

export function limitFailure(refusal: LimitRefusal, caller: Caller): Failure {
  const what = { requests: 'requests', tokens: 'tokens', places: 'simultaneous requests' }[refusal.dimension]
  const whose = caller.kind === 'anonymous' ? 'address' : caller.kind
  return failure(
    'rate_limit_exceeded',
    `Too many ${what} for this ${whose}. Retry in ${refusal.retryAfterSeconds} s.`,
    {
      retryAfterSeconds: refusal.retryAfterSeconds,
      limitSource: whose,
    },
  )
}
