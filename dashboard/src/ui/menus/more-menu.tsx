import { Ellipsis } from 'lucide-react'
import { IconButton } from '../button.tsx'
import { Menu } from './menu.tsx'
import type { MenuEntry } from './menu-entry.ts'

/** The menu of more actions, behind three dots. `label` says on what. */
export function MoreMenu({ label, entries }: { label: string; entries: readonly MenuEntry[] }) {
  return (
    <Menu
      entries={entries}
      trigger={
        <IconButton label={label}>
          <Ellipsis size={16} aria-hidden />
        </IconButton>
      }
    />
  )
}
