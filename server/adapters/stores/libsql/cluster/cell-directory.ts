import { eq, inArray, lte, sql, sum } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CellDirectory, CellName } from '../../../../core/cluster/cells'
import { GatheredLookups } from '../../../../core/gathered-lookups'
import type { AccountId } from '../../../../core/ids'
import { accountDirectory, cells, keyDirectory, paymentDirectory } from '../schema/directory'

/** The directory of keys, accounts and payments in the control database. */
export class LibsqlCellDirectory implements CellDirectory {
  private readonly db: LibSQLDatabase
  /** Gathered, because anybody can invent keys and accounts. */
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
    this.byAccount = new GatheredLookups((accounts) => cellsOfAccounts(db, accounts))
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

  async claimKey(hash: string, cell: CellName, keepUntil: number | null): Promise<void> {
    await this.db.insert(keyDirectory).values({ hash, cell, keepUntil }).onConflictDoNothing()
  }

  async claimPayment(claim: string, cell: CellName, keepUntil: number | null): Promise<CellName> {
    const [row] = await this.db
      .insert(paymentDirectory)
      .values({ claim, cell, keepUntil })
      // Writes the value that is there already, so that the statement also returns a row that it did not insert.
      .onConflictDoUpdate({ target: paymentDirectory.claim, set: { claim } })
      .returning({ cell: paymentDirectory.cell })
    if (!row) throw new Error('a payment was not stored in the directory')
    return row.cell
  }

  /** Rises when lost keys are added again: an earlier look-up may have found that no cell has them. */
  async revision(): Promise<number> {
    const [row] = await this.db.select({ revision: sum(cells.revision) }).from(cells)
    return Number(row?.revision ?? 0)
  }

  /** Lets `prune` remove keys that no longer lead anywhere: `main` answers that they are unknown. */
  async endKeys(hashes: readonly string[], now: number): Promise<void> {
    const all = JSON.stringify(hashes)
    await this.db
      .update(keyDirectory)
      .set({ keepUntil: now })
      .where(sql`${keyDirectory.hash} IN (SELECT value FROM json_each(${all}))`)
  }

  /** Removes at most `maxRows` expired rows of each kind. Returns whether more may be left. */
  async prune(now: number, maxRows: number): Promise<boolean> {
    const oldKeys = this.db.select({ hash: keyDirectory.hash }).from(keyDirectory)
    const oldPayments = this.db.select({ claim: paymentDirectory.claim }).from(paymentDirectory)
    const results = await this.db.batch([
      this.db
        .delete(keyDirectory)
        .where(inArray(keyDirectory.hash, oldKeys.where(lte(keyDirectory.keepUntil, now)).limit(maxRows))),
      this.db
        .delete(paymentDirectory)
        .where(inArray(paymentDirectory.claim, oldPayments.where(lte(paymentDirectory.keepUntil, now)).limit(maxRows))),
    ])
    return results.some(({ rowsAffected }) => rowsAffected === maxRows)
  }
}

/** The cells of the accounts that the directory knows, in one statement. */
export async function cellsOfAccounts(
  db: LibSQLDatabase,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, CellName>> {
  const { accountId, cell } = accountDirectory
  const rows = await db
    .select({ accountId, cell })
    .from(accountDirectory)
    .where(inArray(accountId, accounts as AccountId[]))
  return new Map(rows.map((row) => [row.accountId, row.cell]))
}
