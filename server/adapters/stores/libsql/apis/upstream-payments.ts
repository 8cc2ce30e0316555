import { and, count, countDistinct, eq, gt, inArray, isNotNull, isNull, lt, ne, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import {
  type DailyMaxima,
  MAX_ACCOUNTS_UNANSWERED,
  MAX_UNANSWERED,
  type PaymentSum,
  type UpstreamPayment,
  type UpstreamPayments,
  type WalletToken,
} from '../../../../core/apis/payments/upstream-payment'
import { DAY_MS } from '../../../../core/clock'
import type { AccountId, RequestId } from '../../../../core/ids'
import { KeyedMutex } from '../../../../core/keyed-mutex'
import { type Money, micros } from '../../../../core/money'
import { upstreamPayments as table } from '../schema/payments'
import { requests } from '../schema/usage'

const ROWS_AT_ONCE = 100
const PRUNED_AT_ONCE = 1000

/** The payments of a daily maximum: those signed in a day, and older ones that may still be cashed. */
function counts(now: number) {
  return sql`(${table.state} = 'signed' OR (${table.state} <> 'unused' AND ${table.signedAt} > ${now - DAY_MS}))`
}

/** The amount that a payment takes out of the wallet. */
const COUNTED = sql`(${table.cost} + ${table.fee})`
/** A payment whose account is not known counts as one of its own. */
const ACCOUNT = sql`coalesce(${table.account}, ${table.request})`
/** Its call ended without an answer, and its payee may still cash it. */
const IS_OPEN = and(eq(table.state, 'signed'), isNotNull(table.endedAt))

/** Cashed without an answer since then. */
function isLost(since: number) {
  return and(eq(table.state, 'cashed'), gt(table.endedAt, since))
}

/** This process owns the database, so that a sum and the row that it allows are written under one mutex. */
export class LibsqlUpstreamPayments implements UpstreamPayments {
  private readonly db: LibSQLDatabase
  private readonly mutex = new KeyedMutex()
  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables contain every charge so far. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  open(payment: UpstreamPayment, maxima: DailyMaxima, changedAt: number): ReturnType<UpstreamPayments['open']> {
    return this.mutex.take('open', async () => {
      const { request, account, payee, cost, fee, signedAt, amount, nonce, api } = payment
      const isKnown = or(eq(table.request, request), eq(table.nonce, nonce))
      const [known] = await this.db.select({ request: table.request }).from(table).where(isKnown)
      if (known) return 'twice'
      if ((await this.unansweredOf(api, account, changedAt)) >= MAX_UNANSWERED) return 'account_unanswered'
      if ((await this.openAccounts(api)) >= MAX_ACCOUNTS_UNANSWERED) return 'unanswered'
      const [sums] = await this.db
        .select({
          all: sql<number>`coalesce(sum(${COUNTED}), 0)`,
          payee: sql<number>`coalesce(sum(CASE WHEN ${table.payee} = ${payee} THEN ${COUNTED} ELSE 0 END), 0)`,
        })
        .from(table)
        .where(counts(signedAt))
      const more = cost + fee
      if (!sums || sums.all + more > maxima.inAll || sums.payee + more > maxima.perPayee) return 'cap'
      await this.db.insert(table).values({ ...payment, amount: String(amount), state: 'signed', endedAt: null })
      return 'opened'
    })
  }

  async unanswered(request: RequestId, at: number): Promise<void> {
    const isOpen = and(eq(table.request, request), eq(table.state, 'signed'))
    await this.db.update(table).set({ endedAt: at }).where(isOpen)
  }

  async abandon(at: number): Promise<void> {
    const isOpen = and(eq(table.state, 'signed'), isNull(table.endedAt))
    await this.db.update(table).set({ endedAt: at }).where(isOpen)
  }

  async answered(request: RequestId, at: number, reference: string | null): Promise<void> {
    await this.db
      .update(table)
      .set({ state: 'answered', endedAt: at, reference })
      .where(and(eq(table.request, request), eq(table.state, 'signed')))
  }

  async expired(
    before: number,
    payer: string,
    { chainId, address }: Pick<WalletToken, 'chainId' | 'address'>,
  ): Promise<readonly UpstreamPayment[]> {
    const rows = await this.db
      .select()
      .from(table)
      .where(
        and(
          eq(table.state, 'signed'),
          lt(table.validBefore, Math.floor(before / 1000)),
          eq(table.payer, payer),
          eq(table.chainId, chainId),
          eq(table.token, address),
        ),
      )
      .orderBy(table.validBefore)
      .limit(ROWS_AT_ONCE)
    return rows.map(({ state: _, endedAt: __, reference: ___, ...row }) => ({ ...row, amount: BigInt(row.amount) }))
  }

  async wasCharged(request: RequestId): Promise<boolean> {
    await this.applied()
    const [row] = await this.db.select({ status: requests.status }).from(requests).where(eq(requests.id, request))
    return row !== undefined && row.status < 400
  }

  async end(request: RequestId, state: 'cashed' | 'unused', at: number): Promise<void> {
    await this.db
      .update(table)
      .set({ state, endedAt: at })
      .where(and(eq(table.request, request), eq(table.state, 'signed')))
  }

  async losers(api: string, since: number): Promise<number> {
    const [row] = await this.db
      .select({ accounts: countDistinct(ACCOUNT) })
      .from(table)
      .where(and(eq(table.api, api), isLost(since)))
    return row?.accounts ?? 0
  }

  async counted(now: number): Promise<Money> {
    const [row] = await this.db
      .select({ all: sql<number>`coalesce(sum(${COUNTED}), 0)` })
      .from(table)
      .where(counts(now))
    return micros(row?.all ?? 0)
  }

  async prune(before: number): Promise<void> {
    const old = this.db
      .select({ request: table.request })
      .from(table)
      .where(and(lt(table.signedAt, before), ne(table.state, 'signed')))
      .orderBy(table.signedAt)
      .limit(PRUNED_AT_ONCE)
    await this.db.delete(table).where(inArray(table.request, old))
  }

  async sums(since: number): Promise<readonly PaymentSum[]> {
    const rows = await this.db
      .select({ api: table.api, state: table.state, payments: count(), cost: sql<number>`sum(${table.cost})` })
      .from(table)
      .where(gt(table.signedAt, since))
      .groupBy(table.api, table.state)
    return rows.map((row) => ({ ...row, cost: micros(row.cost) }))
  }

  private async unansweredOf(api: string, account: AccountId | null, changedAt: number): Promise<number> {
    if (account === null) return 0
    const [row] = await this.db
      .select({ payments: count() })
      .from(table)
      .where(and(eq(table.api, api), eq(table.account, account), or(IS_OPEN, isLost(changedAt))))
    return row?.payments ?? 0
  }

  private async openAccounts(api: string): Promise<number> {
    const [row] = await this.db
      .select({ accounts: countDistinct(ACCOUNT) })
      .from(table)
      .where(and(eq(table.api, api), IS_OPEN))
    return row?.accounts ?? 0
  }
}
