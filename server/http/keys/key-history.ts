import type { Static } from '@sinclair/typebox'
import type { AuditEntry } from '../../core/audit'
import { isoTime } from '../../core/clock'
import {
  identifier,
  instant,
  listOf,
  named,
  nextCursor,
  oneOf,
  orNull,
  record,
  text,
  yesOrNo,
} from '../openapi/json-schema'

const KeyHistoryEntry = record('One change.', {
  id: identifier('audit', 'Id of the change.'),
  at: instant('When it happened.'),
  action: text('The change: create, change, rotate, disable, enable or revoke.'),
  by: oneOf(['owner', 'app', 'operator', 'system'], 'Who made it.'),
  ip: orNull(text('The IP address it came from.')),
  settings: listOf(text('A setting.'), 'The settings that were sent.'),
  successor: orNull(text('Id of the key that a rotation created.')),
})
export type KeyHistoryEntry = Static<typeof KeyHistoryEntry>

export const KeyHistory = named(
  'KeyHistory',
  record('A page of changes to a key, newest first.', {
    history: listOf(KeyHistoryEntry, 'The changes.'),
    next_cursor: nextCursor(),
  }),
)
export type KeyHistory = Static<typeof KeyHistory>

export const KeyNames = named(
  'KeyNames',
  record('Names of keys and apps.', {
    names: listOf(
      record('One key or connected app.', {
        id: identifier('key', 'Its id, `key_...` or `conn_...`, as in reports.'),
        kind: oneOf(['key', 'app'], 'Whether it is a key or an app.'),
        name: text('Its name; for an app, the name it registered with.'),
        last4: orNull(text('The last four characters of a key; null for an app.')),
        revoked: yesOrNo('Whether it was revoked or disconnected.'),
      }),
      'The newest 10,000 keys and all apps, including revoked ones.',
    ),
  }),
)
export type KeyNames = Static<typeof KeyNames>

/** One change of a key as its owner sees it. */
export function historyEntry({ id, at, actor, action, detail }: AuditEntry): KeyHistoryEntry {
  const successor = detail['successor']
  const changesSettings = action === 'key.create' || action === 'key.change'
  return {
    id,
    at: isoTime(at),
    action: action.replace(/^key\./, ''),
    by: actor.kind,
    ip: actor.address,
    settings: changesSettings ? Object.keys(detail).map(wireName) : [],
    successor: typeof successor === 'string' ? successor : null,
  }
}

/** The wire name of a setting is its core name in snake case. */
function wireName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
