import type { Static } from '@sinclair/typebox'
import type { AuditEntry } from '../../core/audit'
import { isoTime } from '../../core/clock'
import { isJson } from '../../core/json'
import { csvLine } from '../middleware/response/csv'
import {
  anyObject,
  identifier,
  instant,
  listOf,
  named,
  nextCursor,
  oneOf,
  orNull,
  record,
  text,
} from '../openapi/json-schema'

export const ACTORS = ['owner', 'app', 'operator', 'system'] as const

export const AuditRecord = named(
  'AuditEntry',
  record('One change: who made it, what it was, and from where.', {
    id: identifier('audit', 'Id of the entry.'),
    at: instant('When it was made.'),
    action: text('What was done, such as `key.create`.'),
    actor: oneOf(
      ACTORS,
      'Who did it: the owner, an app of the owner, an operator of the gateway, or the gateway itself.',
    ),
    actor_id: orNull(text('Id of the user or app. Null for an operator, unless an operator asks.')),
    actor_email: orNull(
      text('The email address of the member, or for operators that of the operator.'),
      'a program, or somebody who is gone',
    ),
    ip: orNull(text('The IP address it came from. Null for an operator, unless an operator asks.')),
    account_id: orNull(text('The account it concerns; null if it concerns the whole gateway.')),
    key_id: orNull(text('The key it concerns.')),
    before: orNull(anyObject('The old values of what changed, without secrets; null where there were none.')),
    after: anyObject('The new values, or details of what was done, without secrets.'),
  }),
)
export type AuditRecord = Static<typeof AuditRecord>

export const AuditPage = named(
  'AuditPage',
  record('A page of the audit log, newest first.', {
    entries: listOf(AuditRecord, 'The changes.'),
    next_cursor: nextCursor(),
  }),
)
export type AuditPage = Static<typeof AuditPage>

/** An entry with the address of the person who acted; null for a program, the command line, and somebody who is gone. */
export interface SignedEntry extends AuditEntry {
  readonly email: string | null
}

/** An entry as an owner sees it: without the identity and the address of an operator. */
export function ownersEntry(entry: SignedEntry): AuditRecord {
  const shown = operatorsEntry(entry)
  return entry.actor.kind === 'operator' ? { ...shown, actor_id: null, actor_email: null, ip: null } : shown
}

export function operatorsEntry(entry: SignedEntry): AuditRecord {
  const { id, at, actor, email, accountId, keyId, action, detail, before } = entry
  return {
    id,
    at: isoTime(at),
    action,
    actor: actor.kind,
    actor_id: actor.id,
    actor_email: email,
    ip: actor.address,
    account_id: accountId,
    key_id: keyId,
    before: before && wireValues(before),
    after: wireValues(detail),
  }
}

export const AUDIT_CSV_HEAD = [
  'time_utc',
  'entry_id',
  'action',
  'actor',
  'actor_id',
  'ip',
  'account_id',
  'key_id',
  'before',
  'after',
  // New columns are appended, so that programs that read columns by position keep working.
  'actor_email',
]

export function auditCsvLine({ before, after, ...entry }: AuditRecord): string {
  const { id, at, action, actor, actor_id, actor_email, ip, account_id, key_id } = entry
  const values = [before && JSON.stringify(before), JSON.stringify(after)]
  return csvLine([at, id, action, actor, actor_id, ip, account_id, key_id, ...values, actor_email])
}

/** Names of amounts, in core and on the wire. */
const AMOUNTS: Readonly<Record<string, string>> = {
  spendingLimit: 'spending_limit_micros_usd',
  limit: 'limit_micros_usd',
  amount: 'amount_micros_usd',
}

/** Settings by their names on the wire: snake case, amounts in micro-USD, and times as text. */
function wireValues(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (typeof value === 'number' && name.endsWith('At')) return [snake(name), isoTime(value)]
      return [AMOUNTS[name] ?? snake(name), isJson(value) ? wireValues(value) : value]
    }),
  )
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
