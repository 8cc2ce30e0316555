import { usdText } from './print'
import { table } from './table'

/** The columns of the lists in a record, by the name of the list: paths such as `limits.rpm`. A list without columns is left out. */
export type Columns = Readonly<Record<string, readonly string[]>>

type Row = Readonly<Record<string, unknown>>

/** Prints a record of the API: its facts line by line, its lists as tables, and how to get the rest of a page. */
export function recordText(record: object, columns: Columns = {}): string {
  const { next_cursor: next = null, ...rest } = record as Row
  const entries = Object.entries(rest).filter(([name]) => columns[name]?.length !== 0)
  const [first] = entries
  if (entries.length === 1 && first && (Array.isArray(first[1]) || isPart(first[1])))
    return partText(first[0], first[1], columns) + moreText(next)
  const facts = entries.filter(([, value]) => !isPart(value))
  const parts = entries.filter(([, value]) => isPart(value))
  const texts = [
    factLines(facts),
    ...parts.map(([name, value]) => `${label(name)}:\n${partText(name, value, columns)}`),
  ]
  return texts.filter((text) => text !== '').join('\n') + moreText(next)
}

function moreText(cursor: unknown): string {
  return cursor === null ? '' : `\nThere are more. The next page: repeat with --cursor ${cursor}\n`
}

/** Whether a value is printed below a heading of its own. */
function isPart(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function partText(name: string, value: unknown, columns: Columns): string {
  if (!Array.isArray(value))
    return columns[name] ? rowTable([value], columns[name]) : recordText(Object(value), columns)
  if (value.length === 0) return `No ${label(name)}.\n`
  if (typeof value[0] !== 'object') return value.map((text) => `  - ${text}\n`).join('')
  return rowTable(value, columns[name] ?? Object.keys(value[0]))
}

function rowTable(rows: readonly unknown[], columns: readonly string[]): string {
  return table(
    columns.map((column) => label(column.split('.').at(-1) ?? '').toUpperCase()),
    rows.map((row) => columns.map((column) => cell(column, column.split('.').reduce(member, row)))),
  )
}

function factLines(facts: readonly (readonly [string, unknown])[]): string {
  const width = Math.max(...facts.map(([name]) => label(name).length))
  return facts.map(([name, value]) => `${label(name).padEnd(width)}  ${cell(name, value)}\n`).join('')
}

function member(value: unknown, name: string): unknown {
  return Object(value)[name] ?? null
}

function label(name: string): string {
  return name.replace(/_micros_usd$/, '_usd').replaceAll('_', ' ')
}

function cell(name: string, value: unknown): string | number {
  if (value === null || value === '') return '-'
  if (typeof value === 'object' && Object.keys(value).length === 0) return 'none'
  if (typeof value === 'number' && /_time$/.test(name)) return new Date(value * 1000).toISOString()
  if (typeof value === 'number') return name.endsWith('_micros_usd') ? usdText(value) : value
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
