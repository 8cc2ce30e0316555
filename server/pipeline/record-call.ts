import { formatAddress } from '../core/credentials/address'
import type { AccountId } from '../core/ids'
import { type CallRecord, type Charged, NO_TOKENS } from '../core/usage/call-record'
import { type AuthenticatedCall, countedOn } from './call'

/** The account whose balance pays for a call. */
export function accountOf({ caller }: Pick<AuthenticatedCall, 'caller'>): AccountId {
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller has no account')
  return caller.account.id
}

/** The usage row of a call with a key or by an app. */
export function callRecord(
  { incoming, caller }: Pick<AuthenticatedCall, 'incoming' | 'caller'>,
  operation: string,
  end: { status: number; code: string | null; charged: Charged | null; now: number },
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
  }
}
