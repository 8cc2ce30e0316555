import { grouped, shortCount } from './money.ts'

/** A count, exact on hover where it is shortened. */
export function Count({ value }: { value: number }) {
  return <span title={grouped(value)}>{shortCount(value)}</span>
}
