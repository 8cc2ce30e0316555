import { cloneElement, type ReactElement, useState } from 'react'
import { lazyPart } from '../feedback/lazy-part.tsx'
import type { MenuEntry } from './menu-entry.ts'

const MenuList = lazyPart(() => import('./menu-list.tsx').then(({ MenuList }) => MenuList), {
  fallback: ({ trigger }: { trigger: Trigger; entries: readonly MenuEntry[] }) => asClosed(trigger),
})

/** Preloads the code of menus. */
export const preloadMenus = MenuList.preload

/**
 * A button that opens a menu. It renders only the button until it is pressed, so that a table with a thousand rows does not
 * render a thousand menus, and the first page load contains none of their code.
 */
export function Menu({ trigger, entries }: { trigger: Trigger; entries: readonly MenuEntry[] }) {
  const [used, setUsed] = useState(false)
  if (used) return <MenuList trigger={trigger} entries={entries} />
  return cloneElement(asClosed(trigger), {
    onPointerEnter: () => void preloadMenus(),
    onFocus: () => void preloadMenus(),
    onClick: () => setUsed(true),
  })
}

function asClosed(trigger: Trigger): Trigger {
  return cloneElement(trigger, { 'aria-haspopup': 'menu', 'aria-expanded': false })
}

type Trigger = ReactElement<{
  'aria-haspopup'?: 'menu'
  'aria-expanded'?: boolean
  onPointerEnter?: () => void
  onFocus?: () => void
  onClick?: () => void
}>
