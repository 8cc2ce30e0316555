import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { clsx } from 'clsx'
import { type KeyboardEvent, useId, useState } from 'react'
import { KEY_SIZES } from '../../../server/core/credentials/api-key.ts'
import { accountQuery } from '../api/account/account.ts'
import { keysQuery } from '../api/keys.ts'
import { SHELL_TEXT as TEXT } from '../messages/shell.ts'
import { pagesFor } from '../navigation.ts'
import { Dialog } from '../ui/dialogs/dialog.tsx'
import { INPUT } from '../ui/field.tsx'

const REQUEST_ID = /^req_[0-9a-f]{32}$/
/** The shortest text that names a request: a status. */
const MIN_SEARCH = 3

interface Entry {
  readonly id: string
  readonly label: string
  readonly go: () => void
}

/** Finds pages, keys and common actions by typing. Arrow keys select, Enter opens. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const entries = useEntries(typed.trim(), onClose)
  const chosen = entries[Math.min(at, entries.length - 1)]
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && entries.length > 0) {
      event.preventDefault()
      setAt((Math.min(at, entries.length - 1) + step + entries.length) % entries.length)
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      chosen?.go()
    }
  }
  return (
    <Dialog title={TEXT.palette} onClose={onClose}>
      <input
        role="combobox"
        aria-label={TEXT.palette}
        aria-expanded
        aria-controls={list}
        aria-activedescendant={chosen && `${list}-${chosen.id}`}
        autoComplete="off"
        className={INPUT}
        value={typed}
        onKeyDown={onKey}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
      />
      <div id={list} role="listbox" aria-label={TEXT.palette} className="grid">
        {entries.map((entry) => (
          <button
            key={entry.id}
            id={`${list}-${entry.id}`}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={entry === chosen}
            onClick={entry.go}
            className={clsx(
              'control px-3 text-left wrap-anywhere',
              entry === chosen ? 'bg-accent-soft text-accent' : 'hover:bg-sunken',
            )}
          >
            {entry.label}
          </button>
        ))}
      </div>
      {entries.length === 0 && (
        <p role="status" className="text-muted">
          {TEXT.noneFound}
        </p>
      )}
    </Dialog>
  )
}

function useEntries(typed: string, onClose: () => void): readonly Entry[] {
  const navigate = useNavigate()
  const account = useQuery(accountQuery).data
  const keys =
    useInfiniteQuery({ ...keysQuery({ q: typed }), enabled: typed !== '' && typed.length <= KEY_SIZES.name }).data
      ?.pages[0]?.keys ?? []
  const going = (go: () => void) => () => {
    onClose()
    go()
  }
  const isTyped = (label: string) => label.toLowerCase().includes(typed.toLowerCase())
  const pages = pagesFor(account).map(({ to, label, outside }) => ({
    id: to,
    label,
    go: going(() => (outside ? window.location.assign(to) : void navigate({ to }))),
  }))
  const create = {
    id: 'create-key',
    label: TEXT.createKey,
    go: going(() => void navigate({ to: '/keys', search: { create: true } })),
  }
  const found = typed === '' ? [] : keys.slice(0, 8)
  const requests = [
    ...(REQUEST_ID.test(typed)
      ? [
          {
            id: 'request',
            label: TEXT.requestWith(typed),
            go: going(() => void navigate({ to: '/requests/$id', params: { id: typed } })),
          },
        ]
      : []),
    ...(typed.length < MIN_SEARCH
      ? []
      : [
          {
            id: 'search-requests',
            label: TEXT.searchRequests(typed),
            go: going(() => void navigate({ to: '/usage', search: { tab: 'requests', range: '90d', search: typed } })),
          },
        ]),
  ]
  return [
    ...[...pages, create].filter(({ label }) => isTyped(label)),
    ...found.map(({ id, name }) => ({
      id,
      label: TEXT.keyNamed(name),
      go: going(() => void navigate({ to: '/keys/$id', params: { id } })),
    })),
    ...requests,
  ]
}
