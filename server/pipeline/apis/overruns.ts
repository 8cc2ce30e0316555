import type { ApiOperation } from '../../core/apis/api'

/** Accounts with an overrun after which an operation is closed to all. */
const ACCOUNTS_TO_DISABLE = 3

/**
 * Operations whose upstream claimed more than the maximum. Such an operation is closed to the account of the call, and after three accounts
 * to everyone. A change of the operation opens it again.
 */
export class Overruns {
  private readonly accounts = new WeakMap<ApiOperation, Set<string>>()
  private readonly onDisable: (operation: ApiOperation) => void

  constructor(onDisable: (operation: ApiOperation) => void) {
    this.onDisable = onDisable
  }

  add(operation: ApiOperation, account: string): void {
    const seen = this.accounts.get(operation) ?? new Set()
    this.accounts.set(operation, seen.add(account))
    if (seen.size === ACCOUNTS_TO_DISABLE) this.onDisable(operation)
  }

  isClosed(operation: ApiOperation, account: string): boolean {
    const seen = this.accounts.get(operation)
    return seen !== undefined && (seen.size >= ACCOUNTS_TO_DISABLE || seen.has(account))
  }
}
