import { useQuery } from '@tanstack/react-query'
import { TIER_LIMITS } from '../../../../server/core/limits/tier.ts'
import { limitsQuery } from '../../api/billing/limits.ts'
import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { Badge } from '../../ui/badge.tsx'
import { grouped } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, staticRows, Table } from '../../ui/layout/table.tsx'

type Tier = keyof typeof TEXT.how
interface Row {
  readonly tier: Tier
  readonly rpm: string
  readonly tpm: string
  readonly concurrency: string
}

/** The server's own values (spec 8). */
const TIERS: readonly Row[] = [
  ...(['free', 'starter', 'growth'] as const).map((tier) => {
    const { rpm, tpm, concurrency } = TIER_LIMITS[tier]
    return { tier, rpm: grouped(rpm), tpm: grouped(tpm), concurrency: grouped(concurrency) }
  }),
  { tier: 'enterprise', rpm: TEXT.custom, tpm: TEXT.custom, concurrency: TEXT.custom },
]

const { tierColumns: HEADS } = TEXT

/** The limits of each tier, with the current one marked. */
export function TierTable() {
  const current = useQuery(limitsQuery).data?.tier
  const columns: readonly Column<Row>[] = [
    {
      id: 'tier',
      head: HEADS.tier,
      cell: ({ tier }) => (
        <span className="flex items-center gap-2 font-medium">
          {SHELL_TEXT.tiers[tier]}
          {tier === current && <Badge tone="accent">{TEXT.current}</Badge>}
        </span>
      ),
    },
    { id: 'rpm', head: HEADS.rpm, numeric: true, cell: ({ rpm }) => rpm },
    { id: 'tpm', head: HEADS.tpm, numeric: true, cell: ({ tpm }) => tpm },
    { id: 'concurrency', head: HEADS.concurrency, numeric: true, cell: ({ concurrency }) => concurrency },
    { id: 'how', head: HEADS.how, cell: ({ tier }) => <span className="text-muted">{TEXT.how[tier]}</span> },
  ]
  return (
    <Card title={TEXT.tiers} flush>
      <Table
        caption={TEXT.tierTable}
        columns={columns}
        rowKey={({ tier }) => tier}
        state={staticRows(TIERS)}
        empty={null}
      />
    </Card>
  )
}
