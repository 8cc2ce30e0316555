/** Sums by ledger account. */
export interface AccountSums {
  debits: number
  credits: number
  /** The movement before the period of the others, where both are read. */
  earlierDebits: number
  earlierCredits: number
}

/**
 * Sums of the ledger accounts that come first from `from` on. Holds at most `most` accounts: when there are more, it leaves out the last ones, for another pass from
 * `end` on.
 */
export class LowestSums {
  private readonly from: string
  private readonly most: number
  private readonly sums = new Map<string, AccountSums>()
  private leftOutFrom: string | null = null

  constructor(from: string, most: number) {
    this.from = from
    this.most = most
  }

  /** The first account that was left out; null if none was. */
  get end(): string | null {
    return this.leftOutFrom
  }

  /** The sums of an account, to add to. Null for one that is not in this pass. */
  of(account: string): AccountSums | null {
    if (account < this.from || (this.leftOutFrom !== null && account >= this.leftOutFrom)) return null
    let sums = this.sums.get(account)
    if (sums) return sums
    sums = { debits: 0, credits: 0, earlierDebits: 0, earlierCredits: 0 }
    this.sums.set(account, sums)
    if (this.sums.size > this.most) this.leaveOut()
    return this.sums.get(account) ?? null
  }

  /** Adds what moved from one account to another. */
  add(debit: string, credit: string, amount: number): void {
    const [debited, credited] = [this.of(debit), this.of(credit)]
    if (debited) debited.debits += amount
    if (credited) credited.credits += amount
  }

  /** By account. */
  sorted(): readonly (readonly [account: string, sums: AccountSums])[] {
    return [...this.sums.keys()].sort().map((account) => [account, this.sums.get(account) as AccountSums])
  }

  private leaveOut(): void {
    const accounts = [...this.sums.keys()].sort()
    const kept = Math.ceil(this.most / 2)
    this.leftOutFrom = accounts[kept] ?? null
    for (const account of accounts.slice(kept)) this.sums.delete(account)
  }
}
