import type { AccountId, RequestId } from '../../ids'
import type { Money } from '../../money'

/** A dollar token on a chain that the operator's wallet pays with. */
export interface WalletToken {
  /** How it is paid: by authorizations that the payee submits (EIP-3009), or by transfers on Tempo that the payee sends. */
  readonly kind: 'eip3009' | 'tempo'
  readonly chainId: number
  /** The address of its contract, in lower case. */
  readonly address: string
  /** At least 6: one token is one US dollar. */
  readonly decimals: number
}

/** The most that is signed in 24 hours. */
export interface DailyMaxima {
  readonly inAll: Money
  readonly perPayee: Money
}

/**
 * A payment to an upstream. It is stored before it is signed: from then on its payee can cash it until `validBefore`, whatever happens to
 * the call.
 */
export interface UpstreamPayment {
  /** At most one payment per request. */
  readonly request: RequestId
  /** Whose call it pays for. Null for payments from before this was stored. */
  readonly account: AccountId | null
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
  /** The chain's usual fee for it. It counts towards the daily maxima and is in no price. */
  readonly fee: Money
  /** 32 bytes, `0x` and hex digits: what the chain knows the payment by. No two payments have the same. */
  readonly nonce: string
  /** Seconds since the epoch. */
  readonly validBefore: number
  readonly signedAt: number
}

/** The authorization of a payment (EIP-3009), as both schemes write it. */
export function authorizationText({ payer, payee, amount, validBefore, nonce }: UpstreamPayment) {
  return { from: payer, to: payee, value: String(amount), validAfter: '0', validBefore: String(validBefore), nonce }
}

/**
 * `signed`: its payee may still cash it. `answered`: its answer was sold. `cashed`: without an answer that was sold. `unused`: it expired and
 * was never cashed.
 */
export type PaymentState = 'signed' | 'answered' | 'cashed' | 'unused'

/** Payments to one API since some time, in one state. */
export interface PaymentSum {
  readonly api: string
  readonly state: PaymentState
  readonly payments: number
  readonly cost: Money
}

/**
 * An API is not paid while payments of so many accounts without an answer may still be cashed, and is disabled when those of so many accounts
 * were: an upstream must not cash a day's money first. Accounts count and not payments, so that no single caller can stop an API for the others.
 */
export const MAX_ACCOUNTS_UNANSWERED = 3
/** An API is not paid for an account with so many payments that brought no answer: open ones, and those cashed since the API was changed. */
export const MAX_UNANSWERED = 3

/** The payments that were signed. */
export interface UpstreamPayments {
  /**
   * Durable when it resolves. `changedAt`: when its API was changed last. `cap`: all that was signed would exceed a daily maximum. `twice`: the
   * request has a payment, or another payment has this nonce. `unanswered`: payments of `MAX_ACCOUNTS_UNANSWERED` accounts brought no answer,
   * and their fate is open. `account_unanswered`: `MAX_UNANSWERED` of its account brought none.
   */
  open(
    payment: UpstreamPayment,
    maxima: DailyMaxima,
    changedAt: number,
  ): Promise<'opened' | 'cap' | 'twice' | 'unanswered' | 'account_unanswered'>
  /** Its call ended without an answer. It stays `signed` until the chain shows whether it was cashed. */
  unanswered(request: RequestId, at: number): Promise<void>
  /** At a start: no call of an earlier process will be answered. */
  abandon(at: number): Promise<void>
  /** Its answer was sold. `reference`: the transaction that the upstream's receipt names. */
  answered(request: RequestId, at: number, reference: string | null): Promise<void>
  /** Open payments of a payer in one token that expired before this time, in milliseconds, the oldest first. */
  expired(
    before: number,
    payer: string,
    token: Pick<WalletToken, 'chainId' | 'address'>,
  ): Promise<readonly UpstreamPayment[]>
  /** Whether the call of a payment was charged, whatever its state says: the process may have died in between. */
  wasCharged(request: RequestId): Promise<boolean>
  end(request: RequestId, state: 'cashed' | 'unused', at: number): Promise<void>
  /** For how many accounts payments of an API were cashed without an answer since then. */
  losers(api: string, since: number): Promise<number>
  /** The signatures since then, by API and state. */
  sums(since: number): Promise<readonly PaymentSum[]>
  /** The sum that counts towards the daily maximum. */
  counted(now: number): Promise<Money>
  /** Deletes payments that were signed before then and whose fate is known, some at once. */
  prune(before: number): Promise<void>
}

/** Signs payments of the operator's wallet, and reads on the chain whether they were cashed. */
export interface UpstreamWallet {
  /** Lower case. */
  readonly address: string
  readonly tokens: readonly WalletToken[]
  readonly maxima: DailyMaxima
  /** Why it must not pay this amount now: the chain is another one, the token is not what the settings say, or the wallet has too little. */
  trouble(token: WalletToken, amount: bigint): Promise<string | null>
  /** The signature of a transfer (EIP-3009), `0x` and hex digits. The same payment has the same one. */
  sign(payment: UpstreamPayment): Promise<string>
  /** The demands of a 402 in the `Payment` scheme (MPP). Empty without it. */
  readScheme(header: string): readonly AskedPayment[]
  /** The transaction that a `Payment-Receipt` names, or null. */
  readReceipt(header: string): string | null
  /** Null: not certain yet. */
  wasCashed(payment: UpstreamPayment): Promise<boolean | null>
}

/** The header that pays for a request. */
export interface PaidHeader {
  readonly name: string
  readonly value: string
  /** Text that an answer must never contain: its reader could get the paid answer. */
  readonly secrets: readonly string[]
}

/** A demand of a 402, in any protocol. All of it is the upstream's word, to be validated. */
export interface AskedPayment {
  /** Why it cannot be paid at all, such as `another scheme`; null if it can. */
  readonly problem: string | null
  readonly kind: WalletToken['kind']
  readonly chainId: unknown
  readonly token: unknown
  readonly payee: unknown
  /** In the token's smallest unit, as digits. */
  readonly amount: unknown
  /** How long it may be paid, from now. */
  readonly lifeSeconds: unknown
  /** The payment's identity on the chain, if the challenge decides that. */
  readonly nonce: string | null
  /** Whether it is for this URL. */
  isFor(url: URL): boolean
  header(payment: UpstreamPayment, wallet: Pick<UpstreamWallet, 'sign'>): Promise<PaidHeader>
}

/**
 * The parts of a signed payment that an answer must not show: its header in either alphabet of base64, and the two numbers of its signature, from which
 * anyone can write it again.
 */
export function paymentSecrets(value: string, signature: string): readonly string[] {
  const plain = value.replace(/=+$/, '')
  const numbers = [signature.slice(2, 66), signature.slice(66, 130)]
  const spelled = numbers.flatMap((digits) => [digits.toLowerCase(), digits.toUpperCase()])
  return [...new Set([plain, Buffer.from(plain, 'base64').toString('base64url'), ...spelled])]
}
