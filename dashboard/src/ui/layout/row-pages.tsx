import { useState } from 'react'
import { UI_TEXT as TEXT } from '../../messages/ui.ts'
import { Button } from '../button.tsx'
import { INPUT } from '../field.tsx'

const PAGE_ROWS = 25

/** The rows of one page, and how to get to the others: a search and a pager, both absent while all rows fit on one page. */
export function useRowPages<Row>(all: readonly Row[], textOf: ((row: Row) => string) | undefined) {
  const [query, setQuery] = useState('')
  const [page, setPage] = useState(0)
  if (!textOf || all.length <= PAGE_ROWS) return null
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = all.filter((row) => {
    const text = textOf(row).toLowerCase()
    return words.every((word) => text.includes(word))
  })
  // Rows can go while their page is shown.
  const at = Math.min(page, Math.max(0, Math.ceil(found.length / PAGE_ROWS) - 1))
  const first = at * PAGE_ROWS
  return {
    rows: found.slice(first, first + PAGE_ROWS),
    first,
    count: found.length,
    query,
    onQuery: (next: string) => {
      setQuery(next)
      setPage(0)
    },
    onPage: (step: -1 | 1) => setPage(at + step),
  }
}

type RowPages = NonNullable<ReturnType<typeof useRowPages<unknown>>>

export function RowSearch({ caption, pages: { query, onQuery } }: { caption: string; pages: RowPages }) {
  return (
    <div role="search" className="px-4 pb-3 sm:px-6">
      <input
        type="search"
        aria-label={TEXT.searchTable(caption)}
        placeholder={TEXT.searchRows}
        autoComplete="off"
        className={`${INPUT} max-w-80`}
        value={query}
        onChange={(event) => onQuery(event.target.value)}
      />
    </div>
  )
}

export function RowPager({ caption, pages: { rows, first, count, onPage } }: { caption: string; pages: RowPages }) {
  const last = first + rows.length
  return (
    <nav
      aria-label={TEXT.rowPages(caption)}
      className="flex flex-wrap items-center justify-between gap-3 border-t border-line px-4 py-3 sm:px-6"
    >
      <p role="status" className="small text-muted">
        {count === 0 ? TEXT.noMatch : TEXT.pageOf(first + 1, last, count)}
      </p>
      <div className="flex gap-2">
        <Button disabled={first === 0} onClick={() => onPage(-1)}>
          {TEXT.previousRows}
        </Button>
        <Button disabled={last >= count} onClick={() => onPage(1)}>
          {TEXT.nextRows}
        </Button>
      </div>
    </nav>
  )
}
