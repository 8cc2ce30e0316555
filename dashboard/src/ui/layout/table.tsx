import { clsx } from 'clsx'
import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import { useHasCards } from '../browser/use-has-cards.ts'
import { Failed } from '../feedback/failure.tsx'
import { Loading } from '../feedback/states.tsx'
import { ListFoot, type MoreRows, useShownRows } from './list-parts.tsx'
import { type CardColumn, RowCards, type Totals } from './row-cards.tsx'
import { ListTools, SearchBox } from './search-box.tsx'

export interface Column<Row> extends CardColumn<Row> {
  /** Whether it is right-aligned, for numbers. */
  readonly numeric?: boolean
  /** Whether it names the row: it is never narrower than a few words, and takes the room that the others leave. */
  readonly name?: boolean
  readonly sortable?: boolean
}

export interface Sorting {
  readonly by: string
  readonly down: boolean
}

/** The loading state of a table's data. `isStale`: older data is still shown after a failed refresh. */
export interface TableState<Row> {
  readonly rows: readonly Row[] | undefined
  readonly failure: ApiFailure | null
  readonly onRetry: () => void
  readonly more?: MoreRows | null
}

/** The state of rows that are already known and cannot fail. */
export function staticRows<Row>(rows: readonly Row[] | undefined): TableState<Row> {
  return { rows, failure: null, onRetry: () => undefined }
}

/**
 * A list in all its states: loading, empty, failed (older rows stay) and loaded; where there is little room, each row is a card. With `textOf`, a list of more
 * than one page is shown page by page, with a search in what it returns.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { state, empty, caption, tools } = props
  const hasCards = useHasCards()
  const { failure } = state
  const pages = useShownRows(state.rows ?? [], props.textOf)
  const rows = state.rows && (pages?.rows ?? state.rows)
  const more = pages?.more ?? state.more ?? null
  return (
    <>
      {tools && <ListTools>{tools}</ListTools>}
      {failure && <Failed failure={failure} onRetry={state.onRetry} isStale={rows !== undefined} />}
      {rows === undefined && !failure && <Loading rows={5} />}
      {rows?.length === 0 && !more && !pages && empty}
      {pages && (
        <ListTools>
          <SearchBox label={pages.label(caption)} value={pages.query} onSearch={pages.onQuery} />
        </ListTools>
      )}
      {rows !== undefined &&
        rows.length > 0 &&
        (hasCards ? <RowCards {...props} rows={rows} /> : <Grid {...props} rows={rows} />)}
      {(pages ?? more) && <ListFoot shown={rows?.length ?? 0} all={pages?.count} more={more} />}
    </>
  )
}

type TableProps<Row> = {
  caption: string
  columns: readonly Column<Row>[]
  state: TableState<Row>
  rowKey: (row: Row) => string
  /** The words by which a row is found. */
  textOf?: (row: Row) => string
  empty: ReactNode
  /** A search and filters that the server applies. */
  tools?: ReactNode
  sorting?: Sorting
  onSort?: (by: string) => void
  rowClass?: (row: Row) => string | undefined
  totals?: Totals
}

function Grid<Row>({ caption, columns, rows, rowKey, sorting, onSort, rowClass, totals }: GridProps<Row>) {
  return (
    // Scrollable regions must be reachable by keyboard, and hold what is hidden in them.
    <div role="region" aria-label={caption} tabIndex={0} className="relative overflow-x-auto rounded-b-xl">
      <table className="w-full text-left">
        <caption className="sr-only">{caption}</caption>
        <thead className="small border-b border-line text-muted">
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className={clsx('h-12 border-b border-line last:border-b-0', rowClass?.(row))}>
              {columns.map((column, at) => (
                <Cell key={column.id} column={column} first={at === 0}>
                  {column.cell(row)}
                </Cell>
              ))}
            </tr>
          ))}
        </tbody>
        {totals && (
          <tfoot className="border-t border-line font-medium">
            <tr className="h-12">
              {columns.map((column, at) => (
                <Cell key={column.id} column={column} first={at === 0} bold>
                  {at === 0 ? totals.label : totals.of[column.id]}
                </Cell>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  )
}

type GridProps<Row> = TableProps<Row> & { rows: readonly Row[] }

const CELL = 'px-3 py-1.5 align-middle first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6'

function Cell<Row>({ column, first, bold = false, children }: CellProps<Row>) {
  const className = clsx(
    CELL,
    column.numeric && 'text-right whitespace-nowrap',
    // A cell is as wide as its smallest width says, not as its longest word.
    column.name && 'w-full max-w-0 min-w-44',
  )
  if (!first) return <td className={className}>{children}</td>
  return (
    <th scope="row" className={clsx(className, bold ? 'font-medium' : 'font-normal')}>
      {children}
    </th>
  )
}

type CellProps<Row> = { column: Column<Row>; first: boolean; bold?: boolean; children: ReactNode }

function Head<Row>({ column, sorting, onSort }: HeadProps<Row>) {
  const className = clsx(
    'px-3 py-2 font-medium whitespace-nowrap first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6',
    column.numeric && 'text-right',
  )
  if (column.silent)
    return (
      <th scope="col" className={className}>
        <span className="sr-only">{column.head}</span>
      </th>
    )
  if (!column.sortable || !onSort)
    return (
      <th scope="col" className={className}>
        {column.head}
      </th>
    )
  const sorted = sorting?.by === column.id
  const Icon = sorting?.down ? ArrowDown : ArrowUp
  return (
    <th scope="col" className={className} aria-sort={sorted ? (sorting.down ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        onClick={() => onSort(column.id)}
        className="-mx-1 inline-flex min-h-9 items-center gap-1 rounded-md px-1 font-medium hover:text-text"
      >
        {column.head}
        {sorted ? <Icon size={14} aria-hidden /> : <span aria-hidden className="w-3.5" />}
      </button>
    </th>
  )
}

type HeadProps<Row> = {
  column: Column<Row>
  sorting: Sorting | undefined
  onSort: ((by: string) => void) | undefined
}
