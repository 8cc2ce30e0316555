import type { ApiKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import type { MenuEntry } from '../../ui/menus/menu-entry.ts'
import { isInGrace } from './key-facts.tsx'

/** What a dialog is opened for, and about which key. */
export type KeyDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit'; readonly key: ApiKey; readonly focus?: 'limit' | 'expires' }
  | { readonly kind: 'rotate' | 'delete' | 'stop'; readonly key: ApiKey }

/** What can be done with a key; `open` leads to a dialog, the rest is done at once. */
export interface KeyActions {
  readonly open: (dialog: KeyDialog) => void
  readonly toggle: (key: ApiKey) => void
  readonly keepLonger: (key: ApiKey) => void
  readonly viewUsage: (key: ApiKey) => void
}

interface KeyAct {
  readonly label: string
  readonly danger?: boolean
  readonly act: (key: ApiKey, doings: KeyActions) => void
}

const EDIT: KeyAct = { label: TEXT.edit, act: (key, { open }) => open({ kind: 'edit', key }) }
const ROTATE: KeyAct = { label: TEXT.rotate, act: (key, { open }) => open({ kind: 'rotate', key }) }
const DISABLE: KeyAct = { label: TEXT.disable, act: (key, { toggle }) => toggle(key) }
const ENABLE: KeyAct = { label: TEXT.enable, act: (key, { toggle }) => toggle(key) }
const RAISE: KeyAct = { label: TEXT.raise, act: (key, { open }) => open({ kind: 'edit', key, focus: 'limit' }) }
const EXTEND: KeyAct = { label: TEXT.extend, act: (key, { open }) => open({ kind: 'edit', key, focus: 'expires' }) }
const STOP: KeyAct = { label: TEXT.stopNow, act: (key, { open }) => open({ kind: 'stop', key }) }
const KEEP: KeyAct = { label: TEXT.keepLonger, act: (key, { keepLonger }) => keepLonger(key) }
const USAGE: KeyAct = { label: TEXT.viewUsage, act: (key, { viewUsage }) => viewUsage(key) }
const DELETE: KeyAct = { label: TEXT.remove, danger: true, act: (key, { open }) => open({ kind: 'delete', key }) }

/** What a key's state asks for first; null while all is well. */
export function firstAct(key: ApiKey): KeyAct | null {
  if (key.status === 'disabled') return ENABLE
  if (isInGrace(key)) return STOP
  if (key.status === 'exhausted') return RAISE
  if (key.status === 'expired') return ROTATE
  return null
}

/** Everything that can be done with a key in its state, and nothing that the server would refuse. */
export function keyActs(key: ApiKey): readonly KeyAct[] {
  if (key.status === 'revoked') return [USAGE]
  if (isInGrace(key)) return [STOP, KEEP, key.status === 'disabled' ? ENABLE : DISABLE, USAGE]
  switch (key.status) {
    case 'active':
      return [EDIT, ROTATE, DISABLE, USAGE, DELETE]
    case 'exhausted':
      return [RAISE, EDIT, ROTATE, DISABLE, USAGE, DELETE]
    case 'disabled':
      return [ENABLE, EDIT, USAGE, DELETE]
    case 'expired':
      return [ROTATE, EXTEND, USAGE, DELETE]
  }
}

export function menuOf(key: ApiKey, doings: KeyActions): readonly MenuEntry[] {
  return keyActs(key).map(({ label, danger, act }) => ({
    kind: 'act',
    label,
    ...(danger && { danger }),
    onSelect: () => act(key, doings),
  }))
}
