import { clsx } from 'clsx'
import { type KeyboardEvent, type ReactNode, useId } from 'react'

/** Tabs, of which one is selected. Arrow keys move between them, following the ARIA pattern. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: TabsProps<T>) {
  const id = useId()
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = tabs.findIndex(({ value }) => value === chosen)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (!next) return
    onChoose(next.value)
    document.getElementById(`${id}-${next.value}`)?.focus()
  }
  return (
    <div className="grid min-w-0 gap-3">
      <div role="tablist" aria-label={label} onKeyDown={move} className="flex flex-wrap border-b border-line sm:gap-1">
        {tabs.map(({ value, text }) => (
          <button
            key={value}
            id={`${id}-${value}`}
            type="button"
            role="tab"
            aria-selected={value === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={value === chosen ? 0 : -1}
            onClick={() => onChoose(value)}
            className={clsx(
              'control -mb-px rounded-none border-b-2 px-2.5 font-medium sm:px-3',
              value === chosen ? 'border-accent text-accent' : 'border-transparent text-muted hover:text-text',
            )}
          >
            {text}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${chosen}`} className="min-w-0">
        {children}
      </div>
    </div>
  )
}

type TabsProps<T extends string> = {
  label: string
  tabs: readonly { readonly value: T; readonly text: string }[]
  chosen: T
  onChoose: (value: T) => void
  children: ReactNode
}
