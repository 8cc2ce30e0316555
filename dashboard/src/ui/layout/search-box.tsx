import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { UI_TEXT as TEXT } from '../../messages/ui.ts'
import { Button } from '../button.tsx'
import { INPUT } from '../field.tsx'

/** The row above a list: its search, then its filters. */
export function ListTools({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-2 px-4 pb-4 in-data-bare:pt-4 sm:px-6">{children}</div>
}

/** The search of a list: as it is typed or, with `button`, when it is submitted, because the search is long. */
export function SearchBox({ label, hint = TEXT.searchRows, value, maxLength = 200, button, onSearch }: SearchBoxProps) {
  const [typed, setTyped] = useState(value)
  const sent = useRef<string[]>([])
  // Its own words come back late; any other value was set elsewhere, as by a button that clears the filters.
  useEffect(() => {
    const own = sent.current.lastIndexOf(value)
    sent.current.splice(0, own + 1)
    if (own < 0) setTyped(value)
  }, [value])
  const search = (text: string) => {
    sent.current.push(text.trim())
    onSearch(text.trim())
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    search(typed)
  }
  return (
    <form role="search" onSubmit={submit} className="flex max-w-120 min-w-0 flex-1 basis-56 items-center gap-2">
      <input
        type="search"
        aria-label={label}
        placeholder={hint}
        autoComplete="off"
        maxLength={maxLength}
        className={`${INPUT} min-w-0`}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          if (button === undefined) search(target.value)
        }}
      />
      {button !== undefined && <Button type="submit">{button}</Button>}
    </form>
  )
}

type SearchBoxProps = {
  label: string
  hint?: string
  value: string
  maxLength?: number
  button?: string
  onSearch: (search: string) => void
}
