import { cloneElement, lazy, type ReactElement, Suspense, useState } from 'react'
import type { MenuEntry } from './menu-entry.ts'

/** Preloads the code of menus. */
export const preloadMenus = () => import('./menu-list.tsx')

const MenuList = lazy(() => preloadMenus().then(({ MenuList }) => ({ default: MenuList })))

/**
 * A button that opens a menu. It renders only the button until it is pressed, so that a table with a thousand rows does not
 * render a thousand menus, and the first page load contains none of their code.
 */
export function Menu({ trigger, entries }: { trigger: Trigger; entries: readonly MenuEntry[] }) {
  const [used, setUsed] = useState(false)
  const button = cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: () => void preloadMenus(),
    onFocus: () => void preloadMenus(),
    onClick: () => setUsed(true),
  })
  if (!used) return button
  return (
    <Suspense fallback={button}>
      <MenuList trigger={trigger} entries={entries} />
    </Suspense>
  )
}

type Trigger = ReactElement<{
  'aria-haspopup'?: 'menu'
  'aria-expanded'?: boolean
  onPointerEnter?: () => void
  onFocus?: () => void
  onClick?: () => void
}>
