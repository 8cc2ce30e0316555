import { type Money, micros } from '../money'

/** The credit of a new account (spec 3). */
export const SIGNUP_CREDIT: Money = micros(2_000_000)

/**
 * The state of a new account's signup credit. `awaiting_confirmation`: it is granted when the owner confirms the email address.
 * `network_limit`, `daily_limit`: refused for good, because too much was granted to this network or in total within a day.
 */
export const SIGNUP_CREDITS = ['granted', 'awaiting_confirmation', 'network_limit', 'daily_limit'] as const
export type SignupCredit = (typeof SIGNUP_CREDITS)[number]

/** The most signup credit that strangers can take within 24 hours. */
export interface SignupBrakes {
  /** Accounts with credit of one /24 (IPv4) or /48 (IPv6). */
  readonly perNetwork: number
  /** Of all accounts together. */
  readonly daily: Money
}

export interface SignupCreditRequest {
  readonly userId: string
  /** A keyed hash of the network that signed up; null for one that no brake applies to. */
  readonly network: string | null
  readonly amount: Money
  readonly at: number
}

/**
 * Decides on each user's signup credit once, whatever happens in between: the row is written before the ledger is asked, so a
 * crash can delay a credit but not grant a second one, and the brakes hold for sign-ups that arrive at once.
 */
export interface SignupCreditStore {
  /** Decides now and returns the decision; an earlier one remains. */
  decide(request: SignupCreditRequest): Promise<SignupCredit>
  /** Postpones the decision until `confirm`. */
  await(request: SignupCreditRequest): Promise<SignupCredit>
  /** Decides what was postponed. Null if nothing was ever decided or postponed: a user from before the brakes. */
  confirm(userId: string, at: number): Promise<SignupCredit | null>
  /** Null for a user from before the brakes. */
  of(userId: string): Promise<SignupCredit | null>
}
