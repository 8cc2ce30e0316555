import { eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CellDirectory, CellName } from '../../../../core/cluster/cells'
import type { AccountId } from '../../../../core/ids'
import { accountDirectory, keyDirectory, paymentDirectory } from '../schema/directory'

/** The directory of keys, accounts and payments in the control database. */
export class LibsqlCellDirectory implements CellDirectory {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async ofKey(hash: string): Promise<CellName | null> {
    const [row] = await this.db.select().from(keyDirectory).where(eq(keyDirectory.hash, hash))
    return row?.cell ?? null
  }

  async ofUser(userId: string): Promise<CellName | null> {
    const { cell } = accountDirectory
    const [row] = await this.db.select({ cell }).from(accountDirectory).where(eq(accountDirectory.userId, userId))
    return row?.cell ?? null
  }

  async ofAccount(account: AccountId): Promise<CellName | null> {
    const { cell } = accountDirectory
    const [row] = await this.db.select({ cell }).from(accountDirectory).where(eq(accountDirectory.accountId, account))
    return row?.cell ?? null
  }

  async claimKey(hash: string, cell: CellName): Promise<void> {
    await this.db.insert(keyDirectory).values({ hash, cell }).onConflictDoNothing()
  }

  async claimPayment(claim: string, cell: CellName): Promise<CellName> {
    const [row] = await this.db
      .insert(paymentDirectory)
      .values({ claim, cell })
      // Writes what is there, so that the statement also returns a row that it did not insert.
      .onConflictDoUpdate({ target: paymentDirectory.claim, set: { claim } })
      .returning({ cell: paymentDirectory.cell })
    if (!row) throw new Error('the cell of a payment was not stored')
    return row.cell
  }
}
