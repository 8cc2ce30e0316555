import type { Static } from '@sinclair/typebox'
import type { AuditEntry } from '../../core/audit'
import { instant, listOf, named, nextCursor, oneOf, orNull, record, text, yesOrNo } from '../openapi/json-schema'

const KeyHistoryEntry = record('One change.', {
  id: text('Id of the change.'),
  at: instant('When.'),
  action: text('What: create, change, rotate, disable, enable or revoke.'),
  by: oneOf(['owner', 'app', 'operator', 'system'], 'Who.'),
  ip: orNull(text('The address it came from.')),
  settings: listOf(text('A setting.'), 'Which settings it set.'),
  successor: orNull(text('Id of the key that a rotation created.')),
})
export type KeyHistoryEntry = Static<typeof KeyHistoryEntry>

export const KeyHistory = named(
  'KeyHistory',
  record('A page of what was done to a key, newest first.', {
    history: listOf(KeyHistoryEntry, 'The changes.'),
    next_cursor: nextCursor(),
  }),
)
export type KeyHistory = Static<typeof KeyHistory>

export const KeyNames = named(
  'KeyNames',
  record('Names of keys and apps.', {
    names: listOf(
      record('One key, or one app that was let in.', {
        id: text('Its id, `key_...` or `conn_...`, as in reports.'),
        kind: oneOf(['key', 'app'], 'Which of the two.'),
        name: text('Its name; of an app what it called itself.'),
        last4: orNull(text('How the secret of a key ends.')),
        revoked: yesOrNo('Whether it has ended for good: revoked, or disconnected.'),
      }),
      'Every one there has ever been.',
    ),
  }),
)
export type KeyNames = Static<typeof KeyNames>

/** One change of a key as its owner sees it: who, when, from where, and which settings it was about. */
export function historyEntry({ id, at, actor, action, detail }: AuditEntry): KeyHistoryEntry {
  const successor = detail['successor']
  const changesSettings = action === 'key.create' || action === 'key.change'
  return {
    id,
    at: new Date(at).toISOString(),
    action: action.replace(/^key\./, ''),
    by: actor.kind,
    ip: actor.address,
    settings: changesSettings ? Object.keys(detail).map(wireName) : [],
    successor: typeof successor === 'string' ? successor : null,
  }
}

/** A setting is named on the wire as in core, in snake case. */
function wireName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
