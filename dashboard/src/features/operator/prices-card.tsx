import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiFailure } from '../../api/client/failure.ts'
import { listState } from '../../api/client/list-state.ts'
import { type NewPrice, operatorPricesQuery, setPrice } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { useOperatorAction } from './action-form.tsx'

const PriceDialog = lazyPart(() => import('./price-dialog.tsx').then(({ PriceDialog }) => PriceDialog))

interface Row {
  readonly operation: NewPrice['operation']
  readonly account: string | null
  readonly usd: string
  readonly isCustom: boolean
}

const { priceColumns: HEADS } = TEXT

/** The catalog prices and the operator's overrides. */
export function PricesCard() {
  const prices = useQuery(operatorPricesQuery)
  const [setting, setSetting] = useState(false)
  const resetting = useOperatorAction(
    ({ operation, account }: Row) => setPrice({ operation, usd: null, ...(account !== null && { account }) }),
    TEXT.takenBack,
    () => undefined,
  )
  const rows = prices.data && rowsOf(prices.data)
  return (
    <Card
      title={TEXT.prices}
      flush
      aside={
        <Button busy={rows === undefined} onClick={() => setSetting(true)}>
          {TEXT.price}
        </Button>
      }
    >
      {resetting.error && <FormFailure failure={toApiFailure(resetting.error)} />}
      <Table
        caption={TEXT.priceTable}
        columns={columnsOf(resetting.isPending, resetting.mutate)}
        textOf={({ operation, account }) => `${operation} ${account}`}
        rowKey={({ operation, account, isCustom }) => `${operation} ${account} ${isCustom}`}
        state={{
          rows,
          ...listState(prices),
        }}
        empty={null}
      />
      {setting && prices.data && (
        <PriceDialog
          operations={prices.data.catalogue.map(({ operation }) => operation)}
          onClose={() => setSetting(false)}
        />
      )}
    </Card>
  )
}

/** The columns of the table. `reset` gives a row its catalog price again. */
function columnsOf(isResetting: boolean, reset: (row: Row) => void): readonly Column<Row>[] {
  return [
    {
      id: 'operation',
      head: HEADS.operation,
      cell: ({ operation }) => <span className="font-medium">{operation}</span>,
    },
    {
      id: 'who',
      head: HEADS.who,
      cell: ({ account }) =>
        account === null ? TEXT.everybody : <span className="code wrap-anywhere">{account}</span>,
    },
    { id: 'usd', card: 'aside', head: HEADS.usd, numeric: true, cell: ({ usd }) => `$${usd}` },
    {
      id: 'from',
      head: HEADS.from,
      cell: ({ isCustom }) => (
        <Badge tone={isCustom ? 'accent' : 'neutral'}>{isCustom ? TEXT.yours : TEXT.catalog}</Badge>
      ),
    },
    {
      id: 'act',
      card: 'below',
      head: HEADS.act,
      silent: true,
      numeric: true,
      cell: (row) =>
        row.isCustom ? (
          <Button
            aria-label={`${TEXT.takeBack}: ${row.operation}, ${row.account ?? TEXT.everybody}`}
            busy={isResetting}
            onClick={() => reset(row)}
          >
            {TEXT.takeBack}
          </Button>
        ) : null,
    },
  ]
}

/** Only the latest override per operation and account counts; one that was reset is none. */
function rowsOf({ catalogue, prices }: NonNullable<ReturnType<typeof usePrices>>): Row[] {
  const isCustom = prices.flatMap(({ operation, account, usd }) =>
    usd === null ? [] : [{ operation, account, usd, isCustom: true }],
  )
  return [...isCustom, ...catalogue.map(({ operation, usd }) => ({ operation, account: null, usd, isCustom: false }))]
}

function usePrices() {
  return useQuery(operatorPricesQuery).data
}
