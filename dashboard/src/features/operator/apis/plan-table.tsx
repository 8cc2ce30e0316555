import { useState } from 'react'
import type { ApiOperation, ApiPrice, ImportPlan } from '../../../api/apis.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { priceText } from '../../../ui/format/api-price.ts'
import { Card } from '../../../ui/layout/card.tsx'
import { SearchBox } from '../../../ui/layout/search-box.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { OperationTitle } from './operations-table.tsx'
import { PlanPriceDialog } from './plan-price-dialog.tsx'
import type { CheckedImport } from './use-import.ts'

const PAGE_ROWS = 50
const { columns: HEADS } = TEXT

/** The operations that a document would sell: which of them, and at what price. */
export function PlanTable({ checked, chosen, prices, onChosen, onPrices }: PlanTableProps) {
  const { plan } = checked
  const { operations } = plan.api
  const [filter, setFilter] = useState('')
  const [shown, setShown] = useState(PAGE_ROWS)
  const [pricing, setPricing] = useState<ApiOperation | null>(null)
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const matching = operations.filter(({ id, path, title }) => {
    const text = `${id} ${path} ${title}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const toggle = (id: string, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(id)
    else next.delete(id)
    onChosen(next)
  }
  const selectAll = () => onChosen(new Set([...chosen, ...matching.map(({ id }) => id)]))
  const selectNone = () => onChosen(new Set([...chosen].filter((id) => !matching.some((one) => one.id === id))))
  const parts: RowParts = {
    plan,
    isChosen: ({ id }) => chosen.has(id),
    priceOf: ({ id, price }) => prices[id] ?? price,
    onToggle: toggle,
    onPrice: setPricing,
  }
  return (
    <Card title={TEXT.plan} flush aside={<span>{TEXT.planCount(chosen.size, operations.length)}</span>}>
      <Table
        caption={TEXT.planTable}
        columns={columnsOf(parts)}
        tools={
          operations.length > 0 && (
            <>
              <SearchBox label={TEXT.filter} hint={TEXT.filter} value={filter} onSearch={setFilter} />
              <Button onClick={selectAll}>{TEXT.all}</Button>
              <Button onClick={selectNone}>{TEXT.noneChosen}</Button>
            </>
          )
        }
        rowKey={({ id }) => id}
        state={{
          rows: matching.slice(0, shown),
          failure: null,
          onRetry: () => undefined,
          more: matching.length > shown ? { busy: false, onMore: () => setShown(shown + PAGE_ROWS) } : null,
        }}
        empty={<Empty>{operations.length === 0 ? TEXT.nothing : TEXT.noMatch}</Empty>}
      />
      {pricing && (
        <PlanPriceDialog
          operation={pricing}
          price={parts.priceOf(pricing)}
          onClose={() => setPricing(null)}
          onPrice={(price) => {
            onPrices({ ...prices, [pricing.id]: price })
            setPricing(null)
          }}
        />
      )}
    </Card>
  )
}

type PlanTableProps = {
  checked: CheckedImport
  chosen: ReadonlySet<string>
  prices: Readonly<Record<string, ApiPrice>>
  onChosen: (chosen: ReadonlySet<string>) => void
  onPrices: (prices: Readonly<Record<string, ApiPrice>>) => void
}

interface RowParts {
  readonly plan: ImportPlan
  isChosen(operation: ApiOperation): boolean
  priceOf(operation: ApiOperation): ApiPrice
  onToggle(id: string, isChosen: boolean): void
  onPrice(operation: ApiOperation): void
}

function columnsOf(parts: RowParts): readonly Column<ApiOperation>[] {
  return [
    { id: 'name', head: HEADS.name, cell: (operation) => <Chosen operation={operation} parts={parts} /> },
    { id: 'price', head: HEADS.price, cell: (operation) => priceText(parts.priceOf(operation)) },
    ...(parts.plan.is_new
      ? []
      : [
          {
            id: 'change',
            head: HEADS.change,
            cell: ({ id }: ApiOperation) => <ChangeBadge plan={parts.plan} id={id} />,
          },
        ]),
    {
      id: 'act',
      head: HEADS.act,
      silent: true,
      numeric: true,
      cell: (operation) => <PriceButton operation={operation} parts={parts} />,
    },
  ]
}

function Chosen({ operation, parts }: { operation: ApiOperation; parts: RowParts }) {
  return (
    <label className="flex min-h-9 items-center gap-3">
      <input
        type="checkbox"
        aria-label={TEXT.sell(operation.title ?? operation.id)}
        checked={parts.isChosen(operation)}
        onChange={({ target }) => parts.onToggle(operation.id, target.checked)}
        className="size-4 shrink-0 accent-accent"
      />
      <OperationTitle operation={operation} />
    </label>
  )
}

function PriceButton({ operation, parts }: { operation: ApiOperation; parts: RowParts }) {
  return (
    <Button aria-label={`${TEXT.price}: ${operation.title ?? operation.id}`} onClick={() => parts.onPrice(operation)}>
      {TEXT.price}
    </Button>
  )
}

/** The effect of another import on an operation. */
function ChangeBadge({ plan, id }: { plan: ImportPlan; id: string }) {
  if (plan.added.includes(id)) return <Badge tone="accent">{TEXT.isNew}</Badge>
  const change = plan.changed.find((one) => one.id === id)
  if (!change) return <span className="text-muted">{TEXT.unchanged}</span>
  return <Badge tone="warn">{TEXT.changedIn(change.changed.map((aspect) => TEXT.aspects[aspect]).join(', '))}</Badge>
}
