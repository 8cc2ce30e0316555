import { useQuery } from '@tanstack/react-query'
import type { GatewayOperation } from '../../api/operations.ts'
import { type OwnPrice, pricesQuery } from '../../api/prices.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { costUsd } from '../../ui/money.ts'
import type { Charging } from './charge-to.tsx'

/** What a request costs before it is sent, at the account's own price. Null where nobody pays, or nothing is charged by the piece. */
export function usePrice({ name }: GatewayOperation, { kind }: Charging): { words: string | null; notes: string[] } {
  const prices = useQuery(pricesQuery).data ?? []
  const of = (wanted: string | null) => prices.find(({ operation }) => operation === wanted)
  const price = of(name)
  if (kind === 'nobody' || !price) return { words: null, notes: [] }
  const withAddress = of(`${name}-with-address`)
  const notes = [
    ...(withAddress ? [TEXT.withAddress(costUsd(withAddress.amount_micros_usd))] : []),
    ...(price.amount_micros_usd === price.catalogue_micros_usd
      ? []
      : [TEXT.ownPrice(costUsd(price.catalogue_micros_usd))]),
  ]
  return { words: inWords(price), notes }
}

function inWords({ amount_micros_usd: amount, unit }: OwnPrice): string {
  return unit === 'request' ? costUsd(amount) : TEXT.perUnit(costUsd(amount), unit)
}
