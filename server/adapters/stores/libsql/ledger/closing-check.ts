import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS, isoDay } from '../../../../core/clock'
import type { LedgerProblem } from '../../../../core/ledger/ledger-check'
import { archivedFlows, archivedSums, closedFlows, closings, entries } from '../schema/ledger'
import { type Move, movesOf, partyOfName } from './accounting'
import type { ClosedDays } from './closed-days'
import { LowestSums } from './lowest-sums'

interface Sizes {
  /** Rows per statement. */
  readonly rows: number
  /** Ledger accounts that are held while a day is searched. */
  readonly unmatched: number
}

/** The columns of entries: the UTC day of their time, and their amounts. */
type EntryRow = readonly [day: number, kind: string, debit: string, credit: string, amount: number]

interface ArchivedMove extends Move {
  readonly day: number
}

/** The movement of a ledger account on a closed day, by its closings. */
interface Kept {
  readonly account: string
  readonly day: number
  readonly debits: number
  readonly credits: number
}

/** A ledger account, and its random weight in the sums of a day. */
interface Side {
  readonly weight: bigint
  readonly party: string
}

/** Debits and credits, or the amount and number of entries. */
type Pair = readonly [number, number]

/** How many are kept at hand. */
const SIDES = 10_000

/**
 * Sums over all ledger accounts, each times its weight: of entries less those of closings. With random weights of 64 bits they are zero only if each account agrees,
 * but for a chance of 1 in 2^64. So a day takes a few bytes, whatever the order and number of its entries and accounts.
 */
class DaySums {
  debits = 0n
  credits = 0n
  /** The amount and number of entries by kind and parties. */
  readonly flows = new Map<string, [number, number]>()

  get isZero(): boolean {
    return this.debits === 0n && this.credits === 0n
  }
}

/** Compares closed days with the sums of their entries. Reads both once and in order. */
export class ClosingCheck {
  private readonly db: LibSQLDatabase
  private readonly closed: ClosedDays
  private readonly sizes: Sizes
  private readonly days = new Map<number, DaySums>()
  /** How much higher the balances of ledger accounts are by their closings than by the entries of closed days, of those that do not agree. */
  readonly excess = new Map<string, number>()
  private readonly seed = randomBytes(8).readBigUInt64LE()
  private readonly sides = new Map<string, Side>()
  /** The last entry that was read. */
  private read = 0

  constructor(db: LibSQLDatabase, closed: ClosedDays, sizes: Sizes) {
    this.db = db
    this.closed = closed
    this.sizes = sizes
  }

  /** Adds the entries up to one, if they are not added yet. */
  async readUntil(seq: number): Promise<void> {
    while (this.read < seq) {
      const sealed = this.closed.sealedFrom(this.read + 1)
      if (sealed === null) return
      const to = Math.min(seq, sealed, this.read + this.sizes.rows)
      // As one text: rows of their own would take twice the time.
      const [found] = await this.db.all<{ rows: string }>(
        sql`SELECT json_group_array(json_array(at / ${sql.raw(String(DAY_MS))}, kind, debit, credit, amount)) AS rows FROM ${entries}
          WHERE seq > ${this.read} AND seq <= ${to}`,
      )
      this.add(JSON.parse(found?.rows ?? '[]'), to)
      this.read = to
    }
  }

  /** All differences. */
  async *problems(): AsyncGenerator<LedgerProblem, void> {
    await this.readUntil(this.closed.newest)
    await this.readArchived()
    yield* this.wrongFlows()
    for await (const { account, day, debits, credits } of this.kept('')) {
      const [sums, { weight }] = [this.day(day), this.side(account)]
      sums.debits -= BigInt(debits) * weight
      sums.credits -= BigInt(credits) * weight
    }
    for (const [day, sums] of this.days) if (!sums.isZero) yield* this.wrongAccounts(day)
  }

  /** Adds what left for an archive. */
  private async readArchived(): Promise<void> {
    for await (const moves of this.archived()) for (const { day, ...move } of moves) this.move(this.day(day), move)
    const flows = await this.db.all<typeof archivedFlows.$inferSelect>(sql`SELECT * FROM ${archivedFlows}`)
    for (const { day, kind, debit, credit, amount, entries: count } of flows)
      addFlow(this.day(day), `${kind} ${debit} ${credit}`, amount, count)
  }

  /** Charges, which are all that may leave. */
  private async *archived(): AsyncGenerator<readonly ArchivedMove[], void> {
    for (let after = { debit: '', day: -1 }; ; ) {
      const rows: readonly ArchivedMove[] = await this.db.all<ArchivedMove>(
        sql`SELECT account AS debit, day, debits AS amount, 'house/revenue' AS credit FROM ${archivedSums}
          WHERE (account, day) > (${after.debit}, ${after.day}) ORDER BY account, day LIMIT ${this.sizes.rows}`,
      )
      yield rows
      const last = rows.at(-1)
      if (!last || rows.length < this.sizes.rows) return
      after = last
    }
  }

  private add(rows: readonly EntryRow[], to: number): void {
    const days = new Map<number, DaySums | null>()
    for (const [at, kind, debit, credit, amount] of rows) {
      let sums = days.get(at)
      if (sums === undefined) {
        const day = this.closed.dayOf(at, to)
        sums = day === null ? null : this.day(day)
        days.set(at, sums)
      }
      if (sums === null) continue
      const [from, into] = this.move(sums, { debit, credit, amount })
      addFlow(sums, `${kind} ${from.party} ${into.party}`, amount, 1)
    }
  }

  private move(sums: DaySums, { debit, credit, amount }: Move): readonly [Side, Side] {
    const [from, into, moved] = [this.side(debit), this.side(credit), BigInt(amount)]
    sums.debits += moved * from.weight
    sums.credits += moved * into.weight
    return [from, into]
  }

  private day(day: number): DaySums {
    const sums = this.days.get(day) ?? new DaySums()
    this.days.set(day, sums)
    return sums
  }

  private side(account: string): Side {
    let side = this.sides.get(account)
    if (side) return side
    side = { weight: Bun.hash.wyhash(account, this.seed), party: partyOfName(account) }
    if (this.sides.size === SIDES) this.sides.clear()
    this.sides.set(account, side)
    return side
  }

  /** The sums of all customers by kind. */
  private async *wrongFlows(): AsyncGenerator<LedgerProblem, void> {
    const flows = await this.db.all<typeof closedFlows.$inferSelect>(
      sql`SELECT * FROM ${closedFlows} WHERE day <= ${this.closed.last.day}`,
    )
    for (const { day, kind, debit, credit, amount, entries: count } of flows) {
      const { flows: read } = this.day(day)
      const name = `${kind} ${debit} ${credit}`
      yield* differences(`${name} ${dayName(day)}`, [amount, count], read.get(name) ?? [0, 0])
      read.delete(name)
    }
    for (const [day, { flows: rest }] of this.days)
      for (const [name, read] of rest) yield* differences(`${name} ${dayName(day)}`, [0, 0], read)
  }

  /** The accounts of a day whose closings are not what its entries say, by another look at these. */
  private async *wrongAccounts(day: number): AsyncGenerator<LedgerProblem, void> {
    const own = this.closed.between(day * DAY_MS, (day + 1) * DAY_MS)
    for (let from: string | null = ''; from !== null; ) {
      const sums: LowestSums = new LowestSums(from, this.sizes.unmatched)
      for await (const moves of movesOf(this.db, own, this.sizes.rows))
        for (const move of moves) sums.add(move.debit, move.credit, move.amount)
      for await (const moves of this.archived())
        for (const move of moves) if (move.day === day) sums.add(move.debit, move.credit, move.amount)
      const rest = new Map(sums.sorted())
      for await (const { account, debits, credits, ...kept } of this.kept(from)) {
        if (sums.end !== null && account >= sums.end) break
        if (kept.day !== day) continue
        const read = rest.get(account)
        rest.delete(account)
        yield* this.compared(account, day, [debits, credits], [read?.debits ?? 0, read?.credits ?? 0])
      }
      for (const [account, read] of rest) yield* this.compared(account, day, [0, 0], [read.debits, read.credits])
      from = sums.end
    }
  }

  private *compared(account: string, day: number, kept: Pair, read: Pair): Generator<LedgerProblem, void> {
    const excess = kept[1] - kept[0] - (read[1] - read[0])
    if (excess !== 0) this.excess.set(account, (this.excess.get(account) ?? 0) + excess)
    yield* differences(`${account} ${dayName(day)}`, kept, read)
  }

  /** Walks the closings of accounts from one on. */
  private async *kept(from: string): AsyncGenerator<Kept, void> {
    let before: readonly [account: string, day: number, debits: number, credits: number] = [from, -1, 0, 0]
    for (;;) {
      const [found] = await this.db.all<{ rows: string }>(
        sql`SELECT json_group_array(json_array(account, day, debits, credits)) AS rows FROM (SELECT * FROM ${closings}
          WHERE (account, day) > (${before[0]}, ${before[1]}) ORDER BY account, day LIMIT ${this.sizes.rows})`,
      )
      const rows: readonly (typeof before)[] = JSON.parse(found?.rows ?? '[]')
      for (const row of rows) {
        const [account, day, debits, credits] = row
        const isSame = account === before[0]
        if (day <= this.closed.last.day)
          yield { account, day, debits: debits - (isSame ? before[2] : 0), credits: credits - (isSame ? before[3] : 0) }
        before = row
      }
      if (rows.length < this.sizes.rows) return
    }
  }
}

function addFlow({ flows }: DaySums, name: string, amount: number, count: number): void {
  const flow = flows.get(name)
  if (flow) {
    flow[0] += amount
    flow[1] += count
  } else flows.set(name, [amount, count])
}

function dayName(day: number): string {
  return isoDay(day * DAY_MS)
}

/** The first of two figures that differs. */
function* differences(subject: string, kept: Pair, read: Pair): Generator<LedgerProblem, void> {
  const which = kept[0] === read[0] ? 1 : 0
  if (kept[which] !== read[which])
    yield { what: 'a closed day is not the sum of its entries', subject, one: kept[which], other: read[which] }
}
