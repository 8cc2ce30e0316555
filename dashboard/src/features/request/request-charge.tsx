import type { Explained } from '../../api/requests.ts'
import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { costUsd, grouped } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { FactList, optionalFact } from '../../ui/layout/fact-list.tsx'
import { type Column, staticRows, Table } from '../../ui/layout/table.tsx'

type Charge = NonNullable<Explained['charge']>
type Line = Charge['inputs']['lines'][number]

const COLUMNS: readonly Column<Line>[] = [
  { id: 'item', head: TEXT.lines.item, cell: ({ item }) => item },
  { id: 'units', head: TEXT.lines.units, numeric: true, cell: ({ units }) => grouped(units) },
  { id: 'price', head: TEXT.lines.price, numeric: true, cell: priceOf },
  { id: 'amount', card: 'aside', head: TEXT.lines.amount, numeric: true, cell: amountOf },
]

/** The cost of a request, its arithmetic, and the end of its hold. */
export function RequestCharge({ request, caller }: { request: Explained; caller: string }) {
  const { charge, refunded_micros_usd: refunded } = request
  if (charge === null)
    return (
      <Card title={TEXT.charge}>
        <p>{TEXT.notCharged}</p>
        <FactList facts={[[TEXT.hold, holdOf(request, caller)]]} />
      </Card>
    )
  return (
    <Card title={TEXT.charge} flush>
      <Table
        caption={TEXT.lines.table}
        columns={COLUMNS}
        rowKey={({ item }) => item}
        state={staticRows(charge.inputs.lines)}
        empty={null}
        totals={{ label: TEXT.charged, of: { amount: costUsd(charge.charged_micros_usd) } }}
      />
      <div className="border-t border-line p-4 sm:px-6">
        <FactList
          facts={[
            [TEXT.hold, holdOf(request, caller)],
            ...optionalFact(TEXT.refunded, refunded > 0 ? costUsd(refunded) : null),
            [TEXT.arithmetic, <Code key="sum" text={charge.arithmetic} />],
            [TEXT.priceVersion, <Code key="version" text={charge.price_version} />],
          ]}
        />
      </div>
    </Card>
  )
}

/** The held amount and its end. */
function holdOf({ charge, held_micros_usd: held, provider }: Explained, caller: string): string {
  const charged = charge?.charged_micros_usd ?? 0
  if (held !== null) {
    const released = Math.max(0, held - charged)
    const { all, part, none } = TEXT.held
    if (charged === 0) return none(costUsd(held), caller)
    return released === 0
      ? all(costUsd(held), caller)
      : part(costUsd(held), caller, costUsd(charged), costUsd(released))
  }
  // Calls of earlier versions have no amount. Money is held last before an upstream is asked.
  return charge === null && provider === null ? TEXT.held.nothing : TEXT.held.unknown
}

function priceOf({ unit_price_micros_usd: price, per }: Line): string {
  return per === 1 ? costUsd(price) : TEXT.perUnit(costUsd(price), grouped(per))
}

/** Before the sum is rounded up, so with as many digits as it has. */
function amountOf({ units, unit_price_micros_usd: price, per }: Line): string {
  const micros = (units * price) / per
  return Number.isInteger(micros) ? costUsd(micros) : `$${(micros / 1_000_000).toFixed(12).replace(/0+$/, '')}`
}

function Code({ text }: { text: string }) {
  return <span className="code wrap-anywhere">{text}</span>
}
