import type { Clock } from '../core/clock'
import { formatAddress } from '../core/credentials/address'
import type { AccountId } from '../core/ids'
import type { Journal } from '../core/ledger/journal'
import type { Telemetry } from '../core/telemetry/telemetry'
import { type CallRecord, NO_TOKENS, type TokenCounts } from '../core/usage/call-record'
import { type AuthenticatedCall, countedOn, type Route } from './call'

/** The account whose balance pays for a call. */
export function accountOf({ caller }: Pick<AuthenticatedCall, 'caller'>): AccountId {
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller has no account')
  return caller.account.id
}

/** The path of a route in the documentation; null for a path that does not exist. */
export function templateOf(route: Route): string | null {
  if (route.kind === 'priced' && route.match) return `/apis/v1/${route.match.api.name}${route.match.operation.path}`
  return route.kind === 'priced' || route.kind === 'free' ? (route.template ?? null) : null
}

export interface EndDeps {
  readonly clock: Clock
  readonly journal: Pick<Journal, 'note'>
  readonly telemetry: Telemetry
}

export interface CallEnding {
  readonly operation: string
  readonly status: number
  /** Null for a success. */
  readonly code: string | null
  /** The upstream that was asked, or the last of several. */
  readonly provider?: string | null | undefined
  /** More for its row in the log. Absent: the row of a charged call is written with its charge. */
  readonly row?: Pick<CallRecord, 'held' | 'upstream' | 'failure' | 'model'>
  /** Its end is in the metrics, and in its trace, as that of another call or from before. */
  readonly isCounted?: boolean
}

/** Reports that a call has ended: to the metrics, its trace and, unless it was charged, the log of its caller. */
export function ended(
  { clock, journal, telemetry }: EndDeps,
  call: Pick<AuthenticatedCall, 'incoming' | 'caller'>,
  { operation, status, code, provider = null, row, isCounted = false }: CallEnding,
): void {
  const { id, at, trace } = call.incoming
  const now = clock.now()
  const end = { id, operation, status, code, upstream: provider, ms: Math.max(0, now - at) }
  if (!isCounted) telemetry.callEnded(end)
  trace?.end(end)
  if (row && call.caller.kind !== 'anonymous')
    journal.note(callRecord(call, operation, { ...row, status, code, charged: null, now }))
}

interface CallEnd
  extends Pick<
    CallRecord,
    'status' | 'code' | 'charged' | 'held' | 'upstreamCost' | 'upstream' | 'failure' | 'model' | 'usageSource'
  > {
  readonly tokens?: TokenCounts | undefined
  readonly now: number
}

/** The usage row of a call with a key or by an app. One literal: a spread of it would be the largest allocation of a call. */
export function callRecord(
  { incoming, caller }: Pick<AuthenticatedCall, 'incoming' | 'caller'>,
  operation: string,
  end: CallEnd,
): CallRecord {
  if (caller.kind === 'anonymous') throw new Error('anonymous calls are not in the log')
  return {
    id: incoming.id,
    clientRequestId: incoming.clientRequestId,
    accountId: caller.account.id,
    keyId: countedOn(caller).id,
    operation,
    // A quote or a stored answer is a success that sold nothing.
    counted: incoming.route.kind === 'priced' && (end.charged !== null || end.code !== null),
    at: incoming.at,
    status: end.status,
    code: end.code,
    latencyMs: Math.max(0, end.now - incoming.at),
    address: formatAddress(incoming.address),
    tokens: end.tokens ?? NO_TOKENS,
    model: end.model,
    usageSource: end.usageSource,
    charged: end.charged,
    held: end.held,
    upstreamCost: end.upstreamCost,
    upstream: end.upstream,
    failure: end.failure,
    scope: incoming.budgetScope ?? undefined,
  }
}
