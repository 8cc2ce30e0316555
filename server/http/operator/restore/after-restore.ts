import type { AccountDirectory, UserOfAccount } from '../../../core/accounts/directory'
import { parseInstant } from '../../../core/accounts/instant'
import type { Actor } from '../../../core/audit'
import {
  type LostChanges,
  LostDatabaseProblem,
  type ReadLostChanges,
  type RestoreCheckStore,
  type RestoredKey,
  type RestoreNote,
} from '../../../core/backup/restored'
import { DAY_MS, isoTime } from '../../../core/clock'
import { failure } from '../../../core/failure'
import type { AccountId, KeyId } from '../../../core/ids'
import { err, ok } from '../../../core/result'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { readBody } from '../../middleware/input/validate-body'
import { routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { CustomerCommands, type CustomerParts } from '../customers/customer-commands'
import { type ReconcileParts, reconciledRecord } from '../money/reconcile'
import { type CommandResult, operatorRoles } from '../operator-roles'
import { type AfterRestore, AfterRestoreForm, ConsoleAfterRestoreForm, type RestoreState } from './after-restore-record'

export interface AfterRestoreParts extends CustomerParts, ReconcileParts {
  readonly directory: Pick<AccountDirectory, 'users'>
  /** Null if this data was never restored. */
  readonly restored: RestoreNote | null
  readonly restoreChecks: RestoreCheckStore
  readonly readLostChanges: ReadLostChanges
}

const MAX_LISTED = 1000
const USERS_AT_ONCE = 20
/** Calls and payments that began before the copy may have ended after it. */
const EARLIER_MS = DAY_MS

/** The check after data was restored from an older copy. Safe to repeat. */
async function afterRestore(
  parts: AfterRestoreParts,
  actor: Actor,
  { apply = false, disable_keys: disableKeys = false, lost_database: file, taken_at: takenAt }: ConsoleAfterRestoreForm,
): CommandResult<AfterRestore> {
  const { restoreChecks } = parts
  const restored = restoredFrom(parts, takenAt)
  if (!restored) return err(NOT_RESTORED)
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
  const run = await compared(parts, actor, restored, apply)
  if (apply) await noteDone(parts, actor, restored, { ended, disabled, isComplete: run.isComplete })
  return ok({
    restored: await restoredRecord(parts, restored),
    applied: apply,
    keys: before.slice(0, MAX_LISTED).map(({ id, account, name, prefix, last4, lastUsedAt }) => ({
      id,
      account,
      name,
      shown: `${prefix}…${last4}`,
      last_used_at: lastUsedAt === null ? null : isoTime(lastUsedAt),
    })),
    live_keys: before.length,
    disabled_keys: disabled,
    ended_sessions: ended,
    lost: repeated,
    reconciled: reconciledRecord(run),
  })
}

/** The facts of the restore, or the operator's word about a database that its server restored. */
function restoredFrom({ restored, now }: AfterRestoreParts, takenAt: string | undefined): RestoreNote | null {
  const at = takenAt === undefined ? null : parseInstant(takenAt)
  if (at === null || at > now()) return restored
  return { copy: null, takenAt: at, restoredAt: at, isTakenOver: false }
}

function compared({ reconciliation, now }: AfterRestoreParts, actor: Actor, { takenAt }: RestoreNote, apply: boolean) {
  return reconciliation.run({ actor, period: { from: takenAt - EARLIER_MS, to: now() }, apply })
}

async function noteDone(
  { operator, restoreChecks, now }: AfterRestoreParts,
  actor: Actor,
  { copy, takenAt, restoredAt }: RestoreNote,
  { ended, disabled, isComplete }: { ended: number; disabled: number; isComplete: boolean },
): Promise<void> {
  const detail = { copy, taken_at: isoTime(takenAt), ended_sessions: ended, disabled_keys: disabled }
  await operator.noteBooks(actor, 'books.after_restore', detail)
  if (isComplete) await restoreChecks.checked({ restoredAt, checkedAt: now(), actor: actor.id })
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

/** Revokes, disables and suspends again. Keys in this state already, or missing in the copy, are left. */
async function repeatLost(
  parts: AfterRestoreParts,
  actor: Actor,
  { keys, suspensions, newKeys, newAccounts }: LostChanges,
  apply: boolean,
): Promise<AfterRestore['lost']> {
  const orders = new CustomerCommands(parts)
  const acted: NonNullable<AfterRestore['lost']>['keys'][number][] = []
  for (const { id, account, action } of keys) {
    const owner = await parts.accounts.byId(account)
    const done = apply && owner !== null && (await orders.actOnKey(actor, owner, id, { action })).ok
    acted.push({ id, account, action, done })
  }
  const suspended: NonNullable<AfterRestore['lost']>['suspensions'][number][] = []
  for (const { account, reason } of suspensions) {
    const found = await parts.accounts.byId(account)
    const form = { reason: reason || 'Suspended before a restore.' }
    const done = apply && found !== null && (await orders.suspend(actor, found, form)).ok
    suspended.push({ account, done })
  }
  return { keys: acted, suspensions: suspended, new_keys: newKeys, new_accounts: newAccounts }
}

async function disableAll(parts: AfterRestoreParts, actor: Actor, keys: readonly RestoredKey[]): Promise<number> {
  const orders = new CustomerCommands(parts)
  let disabled = 0
  for (const { id, account } of keys) {
    const owner = await parts.accounts.byId(account)
    if (owner && (await orders.actOnKey(actor, owner, id, { action: 'disable' })).ok) disabled++
  }
  return disabled
}

/** Sessions that were ended since the copy, such as of a thief, work again: all of them end. */
async function endSessions({ directory, identity }: AfterRestoreParts): Promise<number> {
  let ended = 0
  for (let after: AccountId | null = null; ; ) {
    const some: readonly UserOfAccount[] = await directory.users(USERS_AT_ONCE, after)
    const counts = await Promise.all(some.map(({ userId }) => identity.endSessions(userId, { all: true })))
    ended += counts.reduce((sum, count) => sum + count, 0)
    after = some.at(-1)?.accountId ?? null
    if (some.length < USERS_AT_ONCE) return ended
  }
}

async function restoredRecord({ restoreChecks }: AfterRestoreParts, note: RestoreNote) {
  const check = await restoreChecks.checkOf(note.restoredAt)
  return {
    copy: note.copy,
    taken_at: isoTime(note.takenAt),
    restored_at: isoTime(note.restoredAt),
    checked_at: check && isoTime(check.checkedAt),
  }
}

const NOT_RESTORED = failure(
  'invalid_state',
  'This data was not restored from a copy: DATA_DIR has no restored.json. If the database server itself restored the data, pass --taken-at TIME: when the copy was taken.',
)

export function afterRestoreRoutes(parts: AfterRestoreParts & { readonly owners: OwnerSessions }) {
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-after-restore', prefix: '/api/operator' })
    .get(
      '/after-restore',
      ...allowed(
        operator(),
        UNDOCUMENTED,
        async (): Promise<RestoreState> => ({
          restored: parts.restored && (await restoredRecord(parts, parts.restored)),
        }),
      ),
    )
    .post(
      '/after-restore',
      ...allowed(operator(SIGNED_IN_JUST_NOW), UNDOCUMENTED, async ({ actor, context }) => {
        const schema = context.origin.isConsole ? ConsoleAfterRestoreForm : AfterRestoreForm
        return taken(await afterRestore(parts, actor, await readBody(schema, context, {})))
      }),
    )
}
