import type { AuditEntry } from '../audit'
import type { ImportedName } from '../catalog/operation'
import type { AccountId, PriceId } from '../ids'
import { reasonOf } from '../result'
import type { Api, ApiOperation } from './api'

/** Accounts with an overrun after which an operation is closed to all. */
const ACCOUNTS_TO_CLOSE = 3

/** An operation that is closed to an account, because its upstream claimed more than the maximum of this price. */
export interface ApiClosing {
  readonly operation: ImportedName
  readonly accountId: AccountId
  readonly priceVersion: PriceId
  readonly at: number
}

/** Stores closings. A change is durable when it resolves. */
export interface ClosingStore {
  all(): Promise<readonly ApiClosing[]>
  /** Stores the first closing of an operation, account and price; a second one changes nothing. */
  add(closing: ApiClosing): Promise<void>
  /** Deletes those of these operations, of one account or, with null, of all. */
  lift(operations: readonly ImportedName[], account: AccountId | null, audit: AuditEntry): Promise<void>
}

/**
 * The operations whose upstream claimed more than the maximum. Such an operation is closed to the account of the call, and after three
 * accounts to everyone, until the operator lifts it, changes its price, or puts it back on sale.
 */
export class Closings {
  /** Called when an operation was closed to everyone. */
  onClosedToAll: (operation: ApiOperation) => void = () => undefined
  private readonly store: ClosingStore
  private readonly onTrouble: (operation: ImportedName, reason: string) => void
  private readonly byOperation = new Map<ImportedName, ApiClosing[]>()
  /** Closings here that are not stored yet. */
  private readonly unstored = new Set<ApiClosing>()

  constructor(store: ClosingStore, onTrouble: (operation: ImportedName, reason: string) => void) {
    this.store = store
    this.onTrouble = onTrouble
  }

  /** Reads what is stored. The returned function takes it over, with rows that are about to be stored. */
  async read(): Promise<() => void> {
    const stored = await this.store.all()
    return () => {
      this.byOperation.clear()
      for (const closing of [...stored, ...this.unstored]) this.remember(closing)
    }
  }

  isClosed(operation: Pick<ApiOperation, 'name' | 'priceVersion'>, account: AccountId): boolean {
    return this.isClosedToAll(operation) || this.current(operation).some(({ accountId }) => accountId === account)
  }

  isClosedToAll(operation: Pick<ApiOperation, 'name' | 'priceVersion'>): boolean {
    return this.current(operation).length >= ACCOUNTS_TO_CLOSE
  }

  /** Closes an operation to an account at once, and for good when it resolves, unless the store fails. Never rejects. */
  async close(operation: ApiOperation, accountId: AccountId, at: number): Promise<void> {
    if (this.current(operation).some((closing) => closing.accountId === accountId)) return
    const closing: ApiClosing = { operation: operation.name, accountId, priceVersion: operation.priceVersion, at }
    this.remember(closing)
    const toAll = this.current(operation).length === ACCOUNTS_TO_CLOSE
    this.unstored.add(closing)
    try {
      await this.store.add(closing)
      this.unstored.delete(closing)
      if (toAll) this.onClosedToAll(operation)
    } catch (error) {
      // It is closed in this process.
      this.onTrouble(operation.name, `its closing could not be stored: ${reasonOf(error)}`)
    }
  }

  /** Opens these operations, to one account or to all. False if they were not closed. */
  async lift(operations: readonly ImportedName[], account: AccountId | null, audit: AuditEntry): Promise<boolean> {
    const closed = operations.filter((name) =>
      this.byOperation.get(name)?.some(({ accountId }) => account === null || accountId === account),
    )
    if (closed.length === 0) return false
    await this.store.lift(closed, account, audit)
    this.forget(closed, account)
    return true
  }

  /** Drops from memory what the store has deleted. */
  forget(operations: readonly ImportedName[], account: AccountId | null = null): void {
    for (const closing of this.unstored)
      if (operations.includes(closing.operation) && (account === null || closing.accountId === account))
        this.unstored.delete(closing)
    for (const name of operations) {
      const rest =
        this.byOperation.get(name)?.filter(({ accountId }) => account !== null && accountId !== account) ?? []
      if (rest.length > 0) this.byOperation.set(name, rest)
      else this.byOperation.delete(name)
    }
  }

  /** The closed operations of an API, in the order of its operations. */
  of({ operations }: Pick<Api, 'operations'>): ApiClosing[] {
    return operations.flatMap((operation) => this.current(operation))
  }

  /** Those at the price that the operation has now. */
  private current({ name, priceVersion }: Pick<ApiOperation, 'name' | 'priceVersion'>): ApiClosing[] {
    return this.byOperation.get(name)?.filter((closing) => closing.priceVersion === priceVersion) ?? []
  }

  /** Once for each account and price: it may be stored meanwhile. */
  private remember(closing: ApiClosing): void {
    const known = this.byOperation.get(closing.operation) ?? []
    const isSame = ({ accountId, priceVersion }: ApiClosing) =>
      accountId === closing.accountId && priceVersion === closing.priceVersion
    if (!known.some(isSame)) this.byOperation.set(closing.operation, [...known, closing])
  }
}
