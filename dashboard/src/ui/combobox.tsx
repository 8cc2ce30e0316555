import { clsx } from 'clsx'
import { ChevronDown } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { UI_TEXT as TEXT } from '../messages/ui.ts'
import type { Option, SelectProps } from './select-props.ts'

/** More are found by typing. */
const MAX_SHOWN = 50

/** A choice among many: typing narrows the list, arrow keys move in it, Enter takes, Escape keeps what was chosen. */
export function Combobox({
  label,
  options,
  className,
  inputClass,
  value,
  defaultValue,
  onChange,
  name,
  ...control
}: ComboboxProps) {
  const [own, setOwn] = useState(defaultValue ?? '')
  const chosen = value ?? own
  const { typed, at, open, found, counts, close, narrow, move } = useNarrowing(options, chosen)
  const list = useId()
  const take = (option: Option | undefined) => {
    close()
    if (!option || option.value === chosen) return
    setOwn(option.value)
    onChange?.({ target: { value: option.value } })
  }
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) move(step)
    else if (event.key === 'Enter' && open) take(found[at])
    else if (event.key === 'Escape' && open) {
      // Not the dialog around it.
      event.stopPropagation()
      close()
    } else return
    event.preventDefault()
  }
  const text = options.find((option) => option.value === chosen)?.text ?? ''
  return (
    <div className={clsx('relative min-w-0', className)}>
      <input
        {...control}
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={open && found[at] ? `${list}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        className={clsx(inputClass, 'truncate pr-8')}
        title={text}
        value={typed ?? text}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => narrow(typed ?? '')}
        onChange={(event) => narrow(event.target.value)}
        onKeyDown={onKey}
        onBlur={close}
      />
      <ChevronDown
        size={16}
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2 -translate-y-1/2 text-muted"
      />
      {name !== undefined && <input type="hidden" name={name} value={chosen} />}
      <Found
        id={list}
        label={label}
        open={open}
        found={found}
        all={options.length}
        {...counts}
        at={at}
        chosen={chosen}
        onTake={take}
      />
    </div>
  )
}

type ComboboxProps = SelectProps & { inputClass: string }

/** The note about options beyond the list. */
function restText({ shown, matches, all, isNarrowed }: RestProps): string {
  if (shown === 0) return TEXT.noMatch
  if (!isNarrowed) return TEXT.someShown(shown, all)
  return shown < matches ? TEXT.moreMatch(shown, matches) : TEXT.someMatch(matches, all)
}

type RestProps = { shown: number; matches: number; all: number; isNarrowed: boolean }

/** The typed text, and the options that contain it; the text is empty while it is closed. */
function useNarrowing(options: readonly Option[], chosen: string) {
  const [typed, setTyped] = useState<string | null>(null)
  const [at, setAt] = useState(0)
  const words = (typed ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const matches = options.filter(({ text, group = '' }) => {
    const whole = `${text} ${group}`.toLowerCase()
    return words.every((word) => whole.includes(word))
  })
  const found = matches.slice(0, MAX_SHOWN)
  const narrow = (next: string) => {
    setTyped(next)
    setAt(
      next === ''
        ? Math.max(
            0,
            options.slice(0, MAX_SHOWN).findIndex(({ value }) => value === chosen),
          )
        : 0,
    )
  }
  const move = (step: number) =>
    typed === null
      ? narrow('')
      : setAt((before) => (found.length === 0 ? 0 : (before + step + found.length) % found.length))
  const counts = { matches: matches.length, isNarrowed: words.length > 0 }
  return { typed, at, open: typed !== null, found, counts, close: () => setTyped(null), narrow, move }
}

function Found({ id, label, open, found, all, matches, isNarrowed, at, chosen, onTake }: FoundProps) {
  const marked = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (open && at >= 0) marked.current?.scrollIntoView({ block: 'nearest' })
  }, [open, at])
  return (
    <div
      id={id}
      role="listbox"
      aria-label={label ?? TEXT.options}
      hidden={!open}
      className="absolute top-full left-0 z-30 mt-1 max-h-80 w-max max-w-[min(28rem,80vw)] min-w-full overflow-y-auto rounded-md border border-line-strong bg-surface p-1"
    >
      {open &&
        found.map((option, place) => (
          // The keyboard works in the input, which keeps the focus.
          <div
            key={option.value}
            id={`${id}-${place}`}
            ref={place === at ? marked : undefined}
            role="option"
            tabIndex={-1}
            aria-selected={option.value === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onTake(option)}
            onKeyDown={undefined}
            className={clsx(
              'control px-3 py-2 wrap-anywhere',
              place === at ? 'bg-accent-soft text-accent' : 'hover:bg-sunken',
            )}
          >
            {option.text}
            {option.group && <span className="small ml-2 text-muted">{option.group}</span>}
          </div>
        ))}
      {open && found.length < all && (
        <div role="option" tabIndex={-1} aria-selected={false} aria-disabled className="small px-3 py-2 text-muted">
          {restText({ shown: found.length, matches, all, isNarrowed })}
        </div>
      )}
    </div>
  )
}

type FoundProps = {
  id: string
  label: string | undefined
  open: boolean
  found: readonly Option[]
  all: number
  /** How many contain what was typed, if something was. */
  matches: number
  isNarrowed: boolean
  at: number
  chosen: string
  onTake: (option: Option) => void
}
