import type { Right } from '../accounts/roles'
import type { AccountId, KeyId } from '../ids'

/** The events of an account, for its owner (spec D11). */
export const OWNER_EVENTS = [
  'key.created',
  'key.rotated',
  'key.disabled',
  'key.exhausted',
  'key.expiring',
  'key.revoked',
  'budget.threshold',
  'balance.low',
  'balance.empty',
  'alert.reached',
  'topup.completed',
  'topup.failed',
  'tier.changed',
  'limits.requested',
  'limits.decided',
  'social.linked',
  'social.revoked',
  'social.failing',
  'app.connected',
  'app.disconnected',
  'webhook.paused',
  'account.suspended',
  'account.lifted',
  'sign_in.new_device',
] as const

/** What a member's role must allow to be told of an event. A sign-in concerns the one who signed in. */
export function rightToEvent(type: (typeof OWNER_EVENTS)[number]): Right {
  if (type === 'sign_in.new_device') return 'workspace:own'
  return EVENT_RIGHTS[type.split('.')[0] ?? ''] ?? 'settings:read'
}

const EVENT_RIGHTS: Readonly<Record<string, Right>> = {
  key: 'keys:read',
  budget: 'keys:read',
  social: 'keys:read',
  balance: 'money:read',
  topup: 'money:read',
  tier: 'money:read',
}

/** Events for operators only: they concern the whole gateway, or callers without an account. */
export const OPERATOR_EVENTS = [
  'operation.overrun',
  'payment.failed',
  'payment.unserved',
  'ledger.alarm',
  'signup.blocked',
  'upstream.down',
  'upstream.up',
  'backup.failed',
] as const

/** Sent on request to an endpoint, to try it. No filter excludes it. */
export const TEST_EVENT = 'webhook.test'

/** Takes the code to a new URL, and is all that the URL gets until its owner has entered the code. No filter excludes it. */
export const CONFIRM_EVENT = 'webhook.confirm'

export type EventType = (typeof OWNER_EVENTS)[number] | (typeof OPERATOR_EVENTS)[number]

/** A row of the outbox. */
export interface GatewayEvent {
  readonly seq: number
  readonly id: string
  readonly type: string
  /** Null for operators. */
  readonly accountId: AccountId | null
  readonly keyId: KeyId | null
  readonly at: number
  /** Contains neither secrets nor the content of calls. */
  readonly data: Readonly<Record<string, unknown>>
}

/** An event that no commit causes. */
export interface NewEvent extends Omit<GatewayEvent, 'seq' | 'type'> {
  readonly type: EventType
}
