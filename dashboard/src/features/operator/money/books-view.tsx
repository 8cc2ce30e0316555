import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { listState } from '../../../api/client/list-state.ts'
import { booksCsv, entriesCsv, type Statement, statementCsv, statementQuery } from '../../../api/money.ts'
import { MONEY_TEXT as TEXT } from '../../../messages/money.ts'
import { buttonClass } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { Field } from '../../../ui/field.tsx'
import { costUsd } from '../../../ui/format/money.ts'
import { useNow } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'

type Balance = Statement['accounts'][number]

const { statementColumns: HEADS } = TEXT
const COLUMNS: readonly Column<Balance>[] = [
  { id: 'account', head: HEADS.account, cell: ({ account }) => <span className="code">{account}</span> },
  { id: 'opening', head: HEADS.opening, numeric: true, cell: (row) => costUsd(row.opening_micros_usd) },
  { id: 'debits', head: HEADS.debits, numeric: true, cell: (row) => costUsd(row.debits_micros_usd) },
  { id: 'credits', head: HEADS.credits, numeric: true, cell: (row) => costUsd(row.credits_micros_usd) },
  { id: 'closing', head: HEADS.closing, numeric: true, cell: (row) => costUsd(row.closing_micros_usd) },
]

/** The statement of a month, and the files for accounting. */
export function BooksView() {
  const [month, setMonth] = useState(new Date(useNow()).toISOString().slice(0, 7))
  const query = useQuery(statementQuery(month))
  const files = [
    [TEXT.booksCsv, booksCsv(month)],
    [TEXT.entriesCsv, entriesCsv(month)],
    [TEXT.statementCsv, statementCsv(month)],
  ] as const
  return (
    <div className="grid min-w-0 gap-6">
      <div className="flex flex-wrap items-end gap-2">
        <Field label={TEXT.month}>
          {(control) => (
            <input
              {...control}
              type="month"
              required
              value={month}
              onChange={({ target }) => /^[1-9]\d{3}-\d\d$/.test(target.value) && setMonth(target.value)}
            />
          )}
        </Field>
        {files.map(([label, url]) => (
          <a key={url} href={url} download className={buttonClass()}>
            <Download size={16} aria-hidden />
            {label}
          </a>
        ))}
      </div>
      <Card title={TEXT.statement(month)} flush>
        <p className="px-4 pb-3 text-muted sm:px-6">
          {TEXT.statementNote} {query.data && TEXT.owedAtEnd(costUsd(query.data.owed_to_customers_micros_usd))}
        </p>
        <Table
          caption={TEXT.balances(month)}
          columns={COLUMNS}
          rowKey={({ account }) => account}
          state={{ rows: query.data?.accounts, ...listState(query) }}
          empty={<Empty>{TEXT.noBooks}</Empty>}
        />
      </Card>
    </div>
  )
}
