import { formatAddress } from '../core/credentials/address'
import type { AccountId } from '../core/ids'
import { type CallRecord, type Charged, type FailureNote, NO_TOKENS, type UpstreamUse } from '../core/usage/call-record'
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

/** The usage row of a call with a key or by an app. */
export function callRecord(
  { incoming, caller }: Pick<AuthenticatedCall, 'incoming' | 'caller'>,
  operation: string,
  end: {
    readonly status: number
    readonly code: string | null
    readonly charged: Charged | null
    readonly now: number
    readonly upstream: UpstreamUse | undefined
    readonly failure: FailureNote | undefined
  },
): CallRecord {
  if (caller.kind === 'anonymous') throw new Error('anonymous calls are not in the log')
  return {
    id: incoming.id,
    clientRequestId: incoming.clientRequestId,
    accountId: caller.account.id,
    keyId: countedOn(caller).id,
    operation,
    counted: incoming.route.kind === 'priced',
    at: incoming.at,
    status: end.status,
    code: end.code,
    latencyMs: Math.max(0, end.now - incoming.at),
    address: formatAddress(incoming.address),
    tokens: NO_TOKENS,
    charged: end.charged,
    upstream: end.upstream,
    failure: end.failure,
  }
}
