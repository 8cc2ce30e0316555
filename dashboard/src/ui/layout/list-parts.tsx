import { useState } from 'react'
import { UI_TEXT as TEXT } from '../../messages/ui.ts'
import { Button } from '../button.tsx'
import { grouped } from '../format/money.ts'

/** How to get to the rows after those that are shown. */
export interface MoreRows {
  readonly busy: boolean
  readonly onMore: () => void
}

const PAGE_ROWS = 25

/** The rows shown so far of a list that is known whole, and how to get to the others; null while all rows fit on one page. */
export function useShownRows<Row>(all: readonly Row[], textOf: ((row: Row) => string) | undefined) {
  const [query, setQuery] = useState('')
  const [shown, setShown] = useState(PAGE_ROWS)
  if (!textOf || all.length <= PAGE_ROWS) return null
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = all.filter((row) => {
    const text = textOf(row).toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return {
    rows: found.slice(0, shown),
    count: found.length,
    query,
    label: TEXT.searchTable,
    onQuery: (next: string) => {
      setQuery(next)
      setShown(PAGE_ROWS)
    },
    more: found.length > shown ? { busy: false, onMore: () => setShown(shown + PAGE_ROWS) } : null,
  }
}

/** The end of a list: how many rows are shown, of how many where that is known, and the button for more. */
export function ListFoot({ shown, all, more }: ListFootProps) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 border-t border-line px-4 py-3 sm:px-6">
      <p role="status" className="small text-muted">
        {all === 0 ? TEXT.noMatch : all === undefined ? TEXT.shown(grouped(shown)) : TEXT.shownOf(shown, all)}
      </p>
      {more && (
        <Button busy={more.busy} onClick={more.onMore}>
          {more.busy ? TEXT.loading : TEXT.loadMore}
        </Button>
      )}
    </div>
  )
}

type ListFootProps = { shown: number; all: number | undefined; more: MoreRows | null }
