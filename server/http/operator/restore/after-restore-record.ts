import type { Static } from '@sinclair/typebox'
import {
  instant,
  line,
  listOf,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
  whole,
  yesOrNo,
} from '../../openapi/json-schema'
import { Reconciled } from '../money/reconcile-record'

const ACTS = {
  apply: yesOrNo(
    'Whether to act: end sessions, repeat what is known to be lost, book what is missing. Default: only list it.',
  ),
  disable_keys: yesOrNo('With `apply`: disable all keys of the copy. Their owners can enable them again.'),
}
export const AfterRestoreForm = partialForm('What to do after a restore.', ACTS)
/** At the console also with a file of this machine. */
export const ConsoleAfterRestoreForm = partialForm('What to do after a restore.', {
  ...ACTS,
  lost_database: line('The database file that was lost or given up, if it can still be read.', 4000),
  taken_at: instant('When the copy was taken, for a database that its server restored.'),
})
export type ConsoleAfterRestoreForm = Static<typeof ConsoleAfterRestoreForm>

const Restored = record('The copy that the data came from.', {
  copy: orNull(text('Its name.'), 'its server restored it'),
  taken_at: instant('When it was taken. What happened later is not in it.'),
  restored_at: instant('When it was restored.'),
  checked_at: orNull(instant('When `after-restore` was applied.'), 'not yet'),
})

export const RestoreState = record('Whether this data was restored from a copy.', {
  restored: orNull(Restored, 'it was not'),
})
export type RestoreState = Static<typeof RestoreState>

export const AfterRestore = record('What needs a look after a restore.', {
  restored: Restored,
  applied: yesOrNo('Whether it acted.'),
  keys: listOf(
    record('A key that works again, whatever happened to it since the copy.', {
      id: text('Id of the key.'),
      account: text('Id of its account.'),
      name: text('Its name.'),
      shown: text('What is shown of it.'),
      last_used_at: orNull(instant('When it was last used, as the copy knows it.')),
    }),
    'Keys that work, oldest first, at most 1,000.',
  ),
  live_keys: whole('How many keys work.', { minimum: 0 }),
  disabled_keys: whole('How many were disabled because of `disable_keys`.', { minimum: 0 }),
  ended_sessions: whole('How many sessions were ended.', { minimum: 0 }),
  lost: orNull(
    record('What changed after the copy, read from the lost database.', {
      keys: listOf(
        record('A key that was revoked or disabled since.', {
          id: text('Id of the key.'),
          account: text('Id of its account.'),
          action: oneOf(['revoke', 'disable'], 'What happened to it, and happens again with `apply`.'),
          done: yesOrNo('Whether it was done again.'),
        }),
        'Keys.',
      ),
      suspensions: listOf(
        record('An account that was suspended since.', {
          account: text('Its id.'),
          done: yesOrNo('Whether it was suspended again.'),
        }),
        'Suspended accounts.',
      ),
      new_keys: whole('Keys that were made since: they are unknown here.', { minimum: 0 }),
      new_accounts: whole('Accounts that were opened since: they are unknown here.', { minimum: 0 }),
    }),
    'no lost database was given, so changes since the copy cannot be known',
  ),
  reconciled: Reconciled,
})
export type AfterRestore = Static<typeof AfterRestore>
