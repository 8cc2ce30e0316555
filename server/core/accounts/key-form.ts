import type { ParameterError } from '../catalog/parameters'
import { isoTime } from '../clock'
import type { Budget, KeySettings, ScopeBudget } from '../credentials/api-key'
import type { Limits } from '../limits/tier'
import type { Money } from '../money'
import { invalidParameter } from './submitted'

/** An owner's changes to a key. Absent members stay as they are. */
export interface KeyForm extends Partial<KeySettings> {
  readonly spendingLimit?: Money | null
  /** Each of another period. */
  readonly budgets?: readonly Budget[]
  readonly scopeBudget?: ScopeBudget | null
  /** When a replaced key stops. */
  readonly stopsAt?: number
}

/** An owner's settings for a new key. */
export type NewKeyForm = Omit<KeyForm, 'stopsAt'> & Pick<KeySettings, 'name'>

type CheckedSettings = { readonly [K in 'expiresAt' | 'rpmLimit' | 'tpmLimit']?: number | null | undefined } & {
  readonly budgets?: readonly Budget[] | undefined
}

/** The rules that need the clock or the account: a key expires in the future, and its caps are at most the tier's. */
export function brokenKeyRules(
  { expiresAt = null, rpmLimit = null, tpmLimit = null, budgets = [] }: CheckedSettings,
  now: number,
  caps: Limits,
): ParameterError[] {
  const errors: ParameterError[] = []
  if (expiresAt !== null && expiresAt <= now)
    errors.push(invalidParameter('expires_at', 'must be in the future', isoTime(expiresAt)))
  if (rpmLimit !== null && rpmLimit > caps.rpm)
    errors.push(invalidParameter('rpm_limit', `must be at most ${caps.rpm}, the limit of your tier`, rpmLimit))
  if (tpmLimit !== null && tpmLimit > caps.tpm)
    errors.push(invalidParameter('tpm_limit', `must be at most ${caps.tpm}, the limit of your tier`, tpmLimit))
  return [...errors, ...endedRaises(budgets, now)]
}

/** A raise ends in the future. */
export function endedRaises(budgets: readonly Budget[], now: number): ParameterError[] {
  return budgets.flatMap(({ raise }) =>
    raise && raise.until <= now
      ? [invalidParameter('budgets', 'must have a raise.until in the future', isoTime(raise.until))]
      : [],
  )
}
