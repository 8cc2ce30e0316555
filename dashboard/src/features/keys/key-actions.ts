import { type ApiKey, isReplaced } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import type { MenuEntry } from '../../ui/menus/menu-entry.ts'

/** An open dialog and its key. */
export type KeyDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit'; readonly key: ApiKey; readonly focus?: 'limit' | 'expires' }
  | { readonly kind: 'rotate' | 'revoke' | 'stop' | 'give'; readonly key: ApiKey }

/** The actions on a key. `open` opens a dialog; the others run immediately. */
export interface KeyActions {
  readonly open: (dialog: KeyDialog) => void
  readonly toggle: (key: ApiKey) => void
  readonly keepLonger: (key: ApiKey) => void
  readonly viewUsage: (key: ApiKey) => void
  /** Whether others share the workspace, and this member may give them keys. */
  readonly mayGive: boolean
}

interface KeyAction {
  readonly label: string
  readonly danger?: boolean
  readonly run: (key: ApiKey, actions: KeyActions) => void
}

/** The form of a key, at a field. */
export function editDialog(key: ApiKey, at: 'edit' | 'limit' | 'expires'): KeyDialog {
  return { kind: 'edit', key, ...(at !== 'edit' && { focus: at }) }
}

/** Whether the server accepts changes to the settings of a key. */
export function isEditable(key: ApiKey): boolean {
  return key.status !== 'revoked' && !isReplaced(key)
}

const EDIT: KeyAction = { label: TEXT.edit, run: (key, { open }) => open({ kind: 'edit', key }) }
const ROTATE: KeyAction = { label: TEXT.rotate, run: (key, { open }) => open({ kind: 'rotate', key }) }
const DISABLE: KeyAction = { label: TEXT.disable, run: (key, { toggle }) => toggle(key) }
const ENABLE: KeyAction = { label: TEXT.enable, run: (key, { toggle }) => toggle(key) }
const RAISE: KeyAction = { label: TEXT.raise, run: (key, { open }) => open({ kind: 'edit', key, focus: 'limit' }) }
const EXTEND: KeyAction = { label: TEXT.extend, run: (key, { open }) => open({ kind: 'edit', key, focus: 'expires' }) }
const STOP: KeyAction = { label: TEXT.stopNow, run: (key, { open }) => open({ kind: 'stop', key }) }
const KEEP: KeyAction = { label: TEXT.keepLonger, run: (key, { keepLonger }) => keepLonger(key) }
const GIVE: KeyAction = { label: TEXT.give, run: (key, { open }) => open({ kind: 'give', key }) }
const USAGE: KeyAction = { label: TEXT.viewUsage, run: (key, { viewUsage }) => viewUsage(key) }
const REVOKE: KeyAction = { label: TEXT.revoke, danger: true, run: (key, { open }) => open({ kind: 'revoke', key }) }

/** All actions that the server accepts in the key's current status, the most urgent first. */
export function availableActions(key: ApiKey, { mayGive }: Pick<KeyActions, 'mayGive'>): readonly KeyAction[] {
  const all = actionsOf(key)
  if (!mayGive || !isEditable(key)) return all
  const at = all.indexOf(USAGE)
  return [...all.slice(0, at), GIVE, ...all.slice(at)]
}

function actionsOf(key: ApiKey): readonly KeyAction[] {
  if (key.status === 'revoked') return [USAGE]
  if (isReplaced(key)) return [STOP, KEEP, key.status === 'disabled' ? ENABLE : DISABLE, USAGE]
  switch (key.status) {
    case 'active':
      return [EDIT, ROTATE, DISABLE, USAGE, REVOKE]
    case 'exhausted':
      return [RAISE, EDIT, ROTATE, DISABLE, USAGE, REVOKE]
    case 'disabled':
      return [ENABLE, EDIT, USAGE, REVOKE]
    case 'expired':
      return [ROTATE, EXTEND, USAGE, REVOKE]
  }
}

export function menuEntries(key: ApiKey, actions: KeyActions): readonly MenuEntry[] {
  return availableActions(key, actions).map(({ label, danger, run }) => ({
    kind: 'action',
    label,
    ...(danger && { danger }),
    onSelect: () => run(key, actions),
  }))
}
