import type { AccountStore } from '../../core/accounts/store'
import type { Actor } from '../../core/audit'
import {
  type LostChanges,
  LostDatabaseProblem,
  type ReadLostChanges,
  type RestoreCheckStore,
  type RestoredKey,
  type RestoreNote,
} from '../../core/backup/restored'
import { DAY_MS, isoTime } from '../../core/clock'
import { failure } from '../../core/failure'
import type { KeyId } from '../../core/ids'
import { err, ok } from '../../core/result'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { type AfterRestore, AfterRestoreCommand, AfterRestoreForm, type RestoreState } from './after-restore-record'
import { CustomerCommands, type CustomerParts } from './customer-commands'
import type { Answer } from './operator-commands'
import { operatorGate } from './operator-gate'
import { type ReconcileParts, reconciledRecord } from './reconcile'
import { type SocketCommand, socketCommand } from './socket-command'

export interface AfterRestoreParts extends CustomerParts, ReconcileParts {
  /** Null if this data was never restored. */
  readonly restored: RestoreNote | null
  readonly restoreChecks: RestoreCheckStore
  readonly readLostChanges: ReadLostChanges
  readonly accounts: AccountStore
}

const MAX_LISTED = 1000
const ACCOUNTS_AT_ONCE = 20
/** Calls and payments that began before the copy may have ended after it. */
const EARLIER_MS = DAY_MS

/** What an operator looks at, and does again, after data was restored from an older copy. Safe to repeat. */
async function afterRestore(
  parts: AfterRestoreParts,
  actor: Actor,
  { apply = false, disable_keys: disableKeys = false, lost_database: file }: AfterRestoreCommand,
): Answer<AfterRestore> {
  const { restored, restoreChecks, reconciliation, operator, now } = parts
  if (!restored)
    return err(failure('invalid_state', 'This data was not restored from a copy: DATA_DIR has no restored.json.'))
  let lost: LostChanges | null = null
  try {
    lost = file === undefined ? null : await parts.readLostChanges(file, restored.takenAt)
  } catch (error) {
    if (error instanceof LostDatabaseProblem) return err(failure('invalid_state', error.message))
    throw error
  }
  const before = await keysOf(restoreChecks)
  const repeated = lost && (await repeatLost(parts, actor, lost, apply))
  const disabled = apply && disableKeys ? await disableAll(parts, actor, await keysOf(restoreChecks)) : 0
  const ended = apply ? await endSessions(parts) : 0
  const period = { from: restored.takenAt - EARLIER_MS, to: now() }
  const run = await reconciliation.run({ actor, period, apply })
  if (apply) {
    const detail = {
      copy: restored.copy,
      taken_at: isoTime(restored.takenAt),
      ended_sessions: ended,
      disabled_keys: disabled,
    }
    await operator.noteBooks(actor, 'books.after_restore', detail)
    if (run.isComplete)
      await restoreChecks.checked({ restoredAt: restored.restoredAt, checkedAt: now(), actor: actor.id })
  }
  return ok({
    restored: await restoredRecord(parts, restored),
    applied: apply,
    keys: before.slice(0, MAX_LISTED).map(({ id, account, name, prefix, last4, lastUsedAt }) => ({
      ...{ id, account, name, shown: `${prefix}…${last4}` },
      last_used_at: lastUsedAt === null ? null : isoTime(lastUsedAt),
    })),
    ...{ live_keys: before.length, disabled_keys: disabled, ended_sessions: ended, lost: repeated },
    reconciled: reconciledRecord(run),
  })
}

async function keysOf(store: RestoreCheckStore): Promise<readonly RestoredKey[]> {
  const all: RestoredKey[] = []
  for (let after: KeyId | null = null; ; ) {
    const page: readonly RestoredKey[] = await store.liveKeys(MAX_LISTED, after)
    all.push(...page)
    const last = page.at(-1)
    if (!last || page.length < MAX_LISTED) return all
    after = last.id
  }
}

/** Revokes, disables and suspends again. What is in this state already, or is not in the copy, is left. */
async function repeatLost(
  parts: AfterRestoreParts,
  actor: Actor,
  { keys, suspensions, newKeys, newAccounts }: LostChanges,
  apply: boolean,
): Promise<AfterRestore['lost']> {
  const orders = new CustomerCommands(parts)
  const acted: NonNullable<AfterRestore['lost']>['keys'][number][] = []
  for (const { id, account, action } of keys) {
    const done = apply && (await orders.actOnKey(actor, { account, key: id, action })).ok
    acted.push({ id, account, action, done })
  }
  const suspended: NonNullable<AfterRestore['lost']>['suspensions'][number][] = []
  for (const { account, reason } of suspensions) {
    const done = apply && (await orders.suspend(actor, { account, reason: reason || 'Suspended before a restore.' })).ok
    suspended.push({ account, done })
  }
  return { keys: acted, suspensions: suspended, new_keys: newKeys, new_accounts: newAccounts }
}

async function disableAll(parts: AfterRestoreParts, actor: Actor, keys: readonly RestoredKey[]): Promise<number> {
  const orders = new CustomerCommands(parts)
  let disabled = 0
  for (const { id, account } of keys)
    if ((await orders.actOnKey(actor, { account, key: id, action: 'disable' })).ok) disabled++
  return disabled
}

/** Sessions that were ended since the copy, such as of a thief, work again: all of them end. */
async function endSessions({ accounts, identity }: AfterRestoreParts): Promise<number> {
  const all = await accounts.list(Number.POSITIVE_INFINITY, null)
  let ended = 0
  for (let at = 0; at < all.length; at += ACCOUNTS_AT_ONCE) {
    const some = all.slice(at, at + ACCOUNTS_AT_ONCE)
    const counts = await Promise.all(some.map(({ userId }) => identity.endSessions(userId, { all: true })))
    ended += counts.reduce((sum, count) => sum + count, 0)
  }
  return ended
}

async function restoredRecord({ restoreChecks }: AfterRestoreParts, note: RestoreNote) {
  const check = await restoreChecks.checkOf(note.restoredAt)
  return {
    ...{ copy: note.copy, taken_at: isoTime(note.takenAt), restored_at: isoTime(note.restoredAt) },
    checked_at: check && isoTime(check.checkedAt),
  }
}

export function afterRestoreRoutes(parts: AfterRestoreParts & { readonly owners: OwnerSessions }) {
  const { operator, graveOrder } = operatorGate(parts.owners)
  return routeGroup({ name: 'operator-after-restore', prefix: '/api/operator' })
    .get(
      '/after-restore',
      async ({ context }): Promise<RestoreState> => {
        await operator(context)
        return { restored: parts.restored && (await restoredRecord(parts, parts.restored)) }
      },
      UNDOCUMENTED,
    )
    .post(
      '/after-restore',
      ({ context }): Promise<AfterRestore> =>
        graveOrder(context, AfterRestoreForm, (actor, form) => afterRestore(parts, actor, form)),
      { parse: 'none', ...UNDOCUMENTED },
    )
}

export function afterRestoreCommand(parts: AfterRestoreParts, actor: Actor): SocketCommand {
  return socketCommand(AfterRestoreCommand, (form) => afterRestore(parts, actor, form))
}
