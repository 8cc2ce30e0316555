import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS, isoDay } from '../../../../core/clock'
import { idStart } from '../../../../core/ids'
import {
  addedRevenue,
  NO_REVENUE,
  type RevenueQuestion,
  type RevenueReports,
  type RevenueRow,
  type SalesByMethod,
} from '../../../../core/ledger/revenue'
import { micros, ZERO } from '../../../../core/money'
import { accounts } from '../schema/accounts'
import { entries, IS_REFUND } from '../schema/ledger'
import { payments } from '../schema/payments'
import { requests, usageDays } from '../schema/usage'

/** Accounts per statement: a few milliseconds, so that others can read in between. */
const ACCOUNTS = 500

interface Sums {
  readonly name: string | number | null
  readonly calls: number
  readonly charged: number
  readonly cost: number
  readonly costed: number
}

/** Ids of payments begin with their time. A clock that was set back makes them late, never early. */
const ID_SLACK_MS = DAY_MS

/** Revenue over all accounts: of calls with a key from the sums by day, of others from their payments, less refunds in the ledger. */
export class LibsqlRevenue implements RevenueReports {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly accountsAtOnce: number

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>, accountsAtOnce = ACCOUNTS) {
    this.db = db
    this.applied = applied
    this.accountsAtOnce = accountsAtOnce
  }

  async rows(question: RevenueQuestion): Promise<readonly RevenueRow[]> {
    await this.applied()
    const { first, end, grouping } = question
    const name = {
      day: [sql`day`, dayOf(sql`created_at`), dayOf(sql`e.at`)],
      operation: [sql`operation`, sql`operation`, sql`r.operation`],
      model: [sql`model`, sql`''`, sql`coalesce(r.model, '')`],
      account: [sql`account_id`, sql`''`, sql`e.account_id`],
      all: [sql`''`, sql`''`, sql`''`],
    }[grouping ?? 'all'] as [SQL, SQL, SQL]
    const [used, sold, refunds] = await Promise.all([
      this.used(name[0], question),
      this.db.all<Sums>(this.sold(name[1], question)),
      this.db.all<{ name: string | number | null; refunded: number }>(sql`
        SELECT ${name[2]} AS name, sum(e.amount) AS refunded FROM ${entries} e LEFT JOIN ${requests} r ON r.id = e.request_id
        WHERE ${IS_REFUND} AND e.at >= ${first * DAY_MS} AND e.at < ${end * DAY_MS} GROUP BY 1`),
    ])
    const rows = new Map<string, RevenueRow>()
    const add = (given: string | number | null, sums: Omit<RevenueRow, 'name'>) => {
      const label = typeof given === 'number' ? isoDay(given * DAY_MS) : (given ?? '')
      rows.set(label, { name: label, ...addedRevenue(rows.get(label) ?? NO_REVENUE, sums) })
    }
    for (const row of [...used, ...sold]) add(row.name, sumsOf(row))
    for (const { name: of, refunded } of refunds) add(of, { ...NO_REVENUE, refunded: micros(refunded) })
    return [...rows.values()].filter(
      ({ calls, charged, refunded, upstreamCost }) => calls + charged + refunded + upstreamCost > 0,
    )
  }

  async sales(question: Pick<RevenueQuestion, 'first' | 'end'>): Promise<readonly SalesByMethod[]> {
    const rows = await this.db.all<Sums>(this.sold(sql`method`, question))
    return rows.map((row) => ({ method: String(row.name), ...sumsOf(row) }))
  }

  /** Calls with a key. Looks up the days of each account, some accounts at a time: sorted as a whole, the days of all would be held in memory. */
  private async used(name: SQL, { first, end }: Pick<RevenueQuestion, 'first' | 'end'>): Promise<readonly Sums[]> {
    const sums = new Map<Sums['name'], Sums>()
    for (let after = ''; ; ) {
      const [slice] = await this.db.all<{ last: string | null }>(
        sql`SELECT max(id) AS last FROM (SELECT id FROM ${accounts} WHERE id > ${after} ORDER BY id LIMIT ${this.accountsAtOnce})`,
      )
      if (!slice?.last) return [...sums.values()]
      const rows =
        await this.db.all<Sums>(sql`SELECT ${name} AS name, sum(iif(status < 400, requests, 0)) AS calls, sum(charged) AS charged,
          sum(upstream_cost) AS cost, sum(iif(status < 400, upstream_cost_calls, 0)) AS costed
        FROM ${accounts} a CROSS JOIN ${usageDays} ON account_id = a.id AND day >= ${first} AND day < ${end}
        WHERE a.id > ${after} AND a.id <= ${slice.last} GROUP BY 1`)
      for (const row of rows) sums.set(row.name, added(sums.get(row.name), row))
      after = slice.last
    }
  }

  /** Calls that were paid for one by one. */
  private sold(name: SQL, { first, end }: Pick<RevenueQuestion, 'first' | 'end'>): SQL {
    const since = idStart('pay', first * DAY_MS - ID_SLACK_MS)
    return sql`SELECT ${name} AS name, count(*) AS calls, sum(amount) AS charged, coalesce(sum(upstream_cost), 0) AS cost,
      count(upstream_cost) AS costed FROM ${payments} WHERE id >= ${since} AND purpose = 'call' AND paid = 1
        AND created_at >= ${first * DAY_MS} AND created_at < ${end * DAY_MS} GROUP BY 1`
  }
}

function added(known: Sums | undefined, row: Sums): Sums {
  if (!known) return row
  return {
    name: row.name,
    calls: known.calls + row.calls,
    charged: known.charged + row.charged,
    cost: known.cost + row.cost,
    costed: known.costed + row.costed,
  }
}

function dayOf(at: SQL): SQL {
  return sql`${at} / ${sql.raw(String(DAY_MS))}`
}

function sumsOf({ calls, charged, cost, costed }: Sums): Omit<RevenueRow, 'name'> {
  return {
    calls,
    charged: micros(charged),
    refunded: ZERO,
    upstreamCost: micros(cost),
    unknownCostCalls: calls - costed,
  }
}
