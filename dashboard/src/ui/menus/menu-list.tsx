import { clsx } from 'clsx'
import { DropdownMenu as Menu } from 'radix-ui'
import type { ComponentProps, ReactElement } from 'react'
import type { MenuEntry } from './menu-entry.ts'

const ITEM = 'control flex items-center gap-2 px-3 outline-none data-highlighted:bg-sunken'

/** An open menu. Its code is loaded when a menu is first opened. */
export function MenuList({ trigger, entries }: MenuListProps) {
  return (
    <Menu.Root defaultOpen modal={false}>
      <Menu.Trigger asChild>{trigger}</Menu.Trigger>
      {/* Inside a landmark of the page, where a reader of the page finds it. */}
      <Menu.Portal container={document.getElementById('main')}>
        <Menu.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          className="z-70 min-w-48 rounded-md border border-line bg-surface p-1"
        >
          {entries.map((entry) => (
            <Entry key={entry.label} entry={entry} />
          ))}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  )
}

type MenuListProps = { trigger: ReactElement; entries: readonly MenuEntry[] }

function Entry({ entry }: { entry: MenuEntry }) {
  if (entry.kind === 'note') return <Menu.Label className="small px-3 py-1 text-muted">{entry.label}</Menu.Label>
  if (entry.kind === 'choice')
    return (
      <Menu.CheckboxItem className={ITEM} checked={entry.chosen} onSelect={entry.onSelect}>
        <span aria-hidden className="w-4">
          {entry.chosen ? '✓' : ''}
        </span>
        {entry.label}
      </Menu.CheckboxItem>
    )
  const tone: ComponentProps<'div'>['className'] = entry.danger ? 'text-bad' : ''
  return (
    <Menu.Item className={clsx(ITEM, tone)} onSelect={entry.onSelect}>
      {entry.label}
    </Menu.Item>
  )
}
