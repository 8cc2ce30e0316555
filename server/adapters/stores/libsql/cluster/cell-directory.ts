import { eq, inArray, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import {
  type CellDirectory,
  type CellName,
  DirectoryUnavailable,
  type EarlierPayments,
  MAIN_CELL,
} from '../../../../core/cluster/cells'
import { GatheredLookups } from '../../../../core/gathered-lookups'
import type { AccountId } from '../../../../core/ids'
import { accountDirectory, keyDirectory, paymentDirectory } from '../schema/directory'

/** No claim has this key. Its row says that all payments of `main` are in the directory. */
const ALL_OF_MAIN = ''

/** The directory of keys, accounts and payments in the control database. */
export class LibsqlCellDirectory implements CellDirectory, EarlierPayments {
  private readonly db: LibSQLDatabase
  /** Anybody can make keys and accounts up. */
  private readonly byKey: GatheredLookups<CellName>
  private readonly byAccount: GatheredLookups<CellName>

  constructor(db: LibSQLDatabase) {
    this.db = db
    this.byKey = new GatheredLookups(async (hashes) => {
      const rows = await db
        .select()
        .from(keyDirectory)
        .where(inArray(keyDirectory.hash, [...hashes]))
      return new Map(rows.map(({ hash, cell }) => [hash, cell]))
    })
    this.byAccount = new GatheredLookups(async (accounts) => {
      const { accountId, cell } = accountDirectory
      const rows = await db
        .select({ accountId, cell })
        .from(accountDirectory)
        .where(inArray(accountId, accounts as AccountId[]))
      return new Map(rows.map((row) => [row.accountId, row.cell]))
    })
  }

  ofKey(hash: string): Promise<CellName | null> {
    return this.byKey.of(hash)
  }

  async ofUser(userId: string): Promise<CellName | null> {
    const { cell } = accountDirectory
    const [row] = await this.db.select({ cell }).from(accountDirectory).where(eq(accountDirectory.userId, userId))
    return row?.cell ?? null
  }

  ofAccount(account: AccountId): Promise<CellName | null> {
    return this.byAccount.of(account)
  }

  async claimKey(hash: string, cell: CellName): Promise<void> {
    await this.db.insert(keyDirectory).values({ hash, cell }).onConflictDoNothing()
  }

  async claimPayment(claim: string, cell: CellName): Promise<CellName> {
    const { claim: key, cell: owner } = paymentDirectory
    const mayAsk =
      cell === MAIN_CELL ? sql`true` : sql`EXISTS (SELECT 1 FROM ${paymentDirectory} WHERE ${key} = ${ALL_OF_MAIN})`
    const [row] = await this.db
      .insert(paymentDirectory)
      .select(sql`SELECT ${claim}, ${cell} WHERE ${mayAsk}`)
      // Writes what is there, so that the statement also returns a row that it did not insert.
      .onConflictDoUpdate({ target: key, set: { claim } })
      .returning({ cell: owner })
    if (!row) throw new DirectoryUnavailable('the payments of the cell main are not in the directory yet')
    return row.cell
  }

  async areKnown(): Promise<boolean> {
    const { claim } = paymentDirectory
    const rows = await this.db.select({ claim }).from(paymentDirectory).where(eq(claim, ALL_OF_MAIN))
    return rows.length > 0
  }

  async add(claims: readonly string[], areLast: boolean): Promise<void> {
    const all = JSON.stringify(areLast ? [...claims, ALL_OF_MAIN] : claims)
    await this.db
      .insert(paymentDirectory)
      .select(sql`SELECT value, ${MAIN_CELL} FROM json_each(${all}) WHERE true`)
      .onConflictDoNothing()
  }
}
