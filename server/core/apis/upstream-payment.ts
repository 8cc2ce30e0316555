import type { RequestId } from '../ids'
import type { Money } from '../money'

/** What the operator's wallet pays with: one token on one chain, by its address, and how much of it. */
export interface WalletTerms {
  readonly chainId: number
  /** Lower case. */
  readonly token: string
  /** At least 6: one token is one US dollar. */
  readonly decimals: number
  /** The most that is signed in 24 hours, in all and for one payee. */
  readonly dailyMaximum: Money
  readonly dailyMaximumPerPayee: Money
}

/**
 * A payment to an upstream. It is stored before it is signed: from then on its payee can cash it until `validBefore`, whatever becomes of
 * the call.
 */
export interface UpstreamPayment {
  /** At most one payment per request. */
  readonly request: RequestId
  readonly operation: string
  readonly api: string
  readonly chainId: number
  readonly token: string
  /** Addresses in lower case. */
  readonly payer: string
  readonly payee: string
  /** In the token's smallest unit. */
  readonly amount: bigint
  readonly cost: Money
  /** 32 bytes, `0x` and hex digits. */
  readonly nonce: string
  /** Seconds since the epoch. */
  readonly validBefore: number
  readonly signedAt: number
}

/**
 * The payments that were signed. `signed`: its payee may still cash it. `answered`: for an answer that was sold. `cashed`: without one.
 * `unused`: it expired and was never cashed.
 */
export interface UpstreamPayments {
  /** Durable when it resolves. `cap`: all that was signed would exceed a daily maximum. `twice`: the request has a payment. */
  open(payment: UpstreamPayment, terms: WalletTerms): Promise<'opened' | 'cap' | 'twice'>
  answered(request: RequestId): Promise<void>
  /** Payments of a wallet without an answer that expired before this time, in milliseconds. */
  expired(before: number, wallet: Pick<UpstreamWallet, 'terms' | 'address'>): Promise<readonly UpstreamPayment[]>
  end(request: RequestId, state: 'cashed' | 'unused', at: number): Promise<void>
  /** How many payments of an API were cashed without an answer, counted since then. */
  lost(api: string, since: number): Promise<number>
}

/** Signs payments of the operator's wallet, and reads on the chain whether they were cashed. */
export interface UpstreamWallet {
  readonly terms: WalletTerms
  /** Lower case. */
  readonly address: string
  /** The signature, `0x` and hex digits. The same payment has the same one. */
  sign(payment: UpstreamPayment): Promise<string>
  /** Null: not certain yet. */
  wasCashed(payment: UpstreamPayment): Promise<boolean | null>
}
