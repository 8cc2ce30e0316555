import { clsx } from 'clsx'
import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { useIsPhone } from '../browser/use-is-phone.ts'
import { Button } from '../button.tsx'
import { Failed } from '../feedback/failure.tsx'
import { Loading } from '../feedback/states.tsx'
import { RowPager, RowSearch, useRowPages } from './row-pages.tsx'

export interface Column<Row> {
  readonly id: string
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** Whether it is right-aligned, for numbers. */
  readonly numeric?: boolean
  /** Whether it names the row: it is never narrower than a few words, and takes the room that the others leave. */
  readonly name?: boolean
  /** Whether the header is for screen readers only, such as that of a column of menus. */
  readonly silent?: boolean
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
  readonly more?: { readonly busy: boolean; readonly onMore: () => void } | null
}

/** The state of rows that are already known and cannot fail. */
export function staticRows<Row>(rows: readonly Row[] | undefined): TableState<Row> {
  return { rows, failure: null, onRetry: () => undefined }
}

/**
 * A table in all its states: loading, empty, failed (older rows stay) and loaded. With `card`, each row is a card on a phone. With
 * `textOf`, a list of more than one page has pages and a search in what it returns.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { state, empty, card, caption } = props
  const phone = useIsPhone()
  const { failure } = state
  const pages = useRowPages(state.rows ?? [], props.textOf)
  const rows = state.rows && (pages?.rows ?? state.rows)
  return (
    <>
      {failure && <Failed failure={failure} onRetry={state.onRetry} isStale={rows !== undefined} />}
      {rows === undefined && !failure && <Loading rows={5} />}
      {rows?.length === 0 && !state.more && !pages && empty}
      {pages && <RowSearch caption={caption} pages={pages} />}
      {rows !== undefined &&
        rows.length > 0 &&
        (phone && card ? <Cards {...props} rows={rows} /> : <Grid {...props} rows={rows} />)}
      {pages && <RowPager caption={caption} pages={pages} />}
      {state.more && (
        <div className="flex justify-center border-t border-line p-3">
          <Button busy={state.more.busy} onClick={state.more.onMore}>
            {state.more.busy ? UI_TEXT.loading : UI_TEXT.loadMore}
          </Button>
        </div>
      )}
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
  /** How to show a row on a phone. */
  card?: (row: Row) => ReactNode
  sorting?: Sorting
  onSort?: (by: string) => void
  rowClass?: (row: Row) => string | undefined
  foot?: ReactNode
}

function Cards<Row>({ caption, rows, rowKey, card }: TableProps<Row> & { rows: readonly Row[] }) {
  return (
    <ul aria-label={caption} className="border-t border-line">
      {rows.map((row) => (
        <li key={rowKey(row)} className="border-b border-line p-4 last:border-b-0">
          {card?.(row)}
        </li>
      ))}
    </ul>
  )
}

function Grid<Row>({ caption, columns, rows, rowKey, sorting, onSort, rowClass, foot }: GridProps<Row>) {
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
        {foot && <tfoot className="border-t border-line font-medium">{foot}</tfoot>}
      </table>
    </div>
  )
}

type GridProps<Row> = TableProps<Row> & { rows: readonly Row[] }

const CELL = 'px-3 py-3 align-middle first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6'

function Cell<Row>({ column, first, children }: { column: Column<Row>; first: boolean; children: ReactNode }) {
  const className = clsx(
    CELL,
    column.numeric && 'text-right whitespace-nowrap',
    // A cell is as wide as its smallest width says, not as its longest word.
    column.name && 'w-full max-w-0 min-w-44',
  )
  if (!first) return <td className={className}>{children}</td>
  return (
    <th scope="row" className={clsx(className, 'font-normal')}>
      {children}
    </th>
  )
}

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
