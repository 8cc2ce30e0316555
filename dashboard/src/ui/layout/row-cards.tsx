import { Fragment, type ReactNode } from 'react'

/** The role of a column on a card. */
export interface CardColumn<Row> {
  readonly id: string
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** Whether the header is for screen readers only, such as that of a column of menus. */
  readonly silent?: boolean
  /**
   * Its place on the card of a row: the heading (by default the first column), next to the heading (by default a silent column), below all
   * lines in full width, or nowhere. Else it is a line with its head.
   */
  readonly card?: 'title' | 'aside' | 'below' | 'none'
}

/** The totals of a table, below its rows. */
export interface Totals {
  readonly label: string
  /** By the id of a column. */
  readonly of: Readonly<Record<string, ReactNode>>
}

type Place = NonNullable<CardColumn<unknown>['card']> | 'line'

/** The rows of a table as cards, as a phone shows them. */
export function RowCards<Row>({ caption, columns, rows, rowKey, rowClass, totals }: RowCardsProps<Row>) {
  const places = placesOf(columns)
  return (
    <ul aria-label={caption} className="border-t border-line in-data-bare:first:border-t-0">
      {rows.map((row) => (
        <li key={rowKey(row)} className={`border-b border-line p-4 last:border-b-0 ${rowClass?.(row) ?? ''}`}>
          <RowCard columns={columns} places={places} row={row} />
        </li>
      ))}
      {totals && (
        <li className="grid gap-3 border-t border-line p-4 font-medium">
          {totals.label}
          <Lines lines={columns.map(({ id, head }) => [head, totals.of[id]])} />
        </li>
      )}
    </ul>
  )
}

type RowCardsProps<Row> = {
  caption: string
  columns: readonly CardColumn<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  rowClass?: (row: Row) => string | undefined
  totals?: Totals
}

function placesOf<Row>(columns: readonly CardColumn<Row>[]): ReadonlyMap<string, Place> {
  const title = columns.find(({ card }) => card === 'title') ?? columns.find(({ card }) => card === undefined)
  return new Map(
    columns.map((column) => [
      column.id,
      column === title ? 'title' : (column.card ?? (column.silent ? 'aside' : 'line')),
    ]),
  )
}

function RowCard<Row>({ columns, places, row }: RowCardProps<Row>) {
  const cells = (place: Place) => columns.filter(({ id }) => places.get(id) === place)
  const [aside, below] = [filledCells(cells('aside'), row), filledCells(cells('below'), row)]
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex items-start justify-between gap-3">
        <div className="min-w-0 font-medium wrap-anywhere">{filledCells(cells('title'), row)}</div>
        {aside.length > 0 && <div className="flex max-w-3/5 flex-wrap items-center justify-end gap-2">{aside}</div>}
      </div>
      <Lines lines={cells('line').map(({ head, cell }) => [head, cell(row)])} />
      {below}
    </div>
  )
}

type RowCardProps<Row> = { columns: readonly CardColumn<Row>[]; places: ReadonlyMap<string, Place>; row: Row }

function filledCells<Row>(columns: readonly CardColumn<Row>[], row: Row): readonly ReactNode[] {
  return columns.flatMap(({ id, cell }) => {
    const value = cell(row)
    return isNothing(value) ? [] : [<Fragment key={id}>{value}</Fragment>]
  })
}

/** Names and values, one pair per line; none for what a row does not have. */
function Lines({ lines }: { lines: readonly (readonly [string, ReactNode])[] }) {
  const some = lines.filter(([, value]) => !isNothing(value))
  if (some.length === 0) return null
  return (
    <dl className="grid grid-cols-1 gap-1">
      {some.map(([name, value]) => (
        <div key={name} className="flex items-baseline justify-between gap-4">
          <dt className="small max-w-1/2 text-muted">{name}</dt>
          <dd className="min-w-0 text-right wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function isNothing(value: ReactNode): boolean {
  return value === undefined || value === null || value === false || value === '-'
}
