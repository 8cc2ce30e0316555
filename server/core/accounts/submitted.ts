import type { ParameterError } from '../catalog/parameters'
import { type Failure, wrongParameters } from '../failure'
import { err, ok, type Result } from '../result'

/**
 * A form that somebody sent: what of it can be read, and every rule that the rest breaks. HTTP validates its shape; core adds what
 * needs the clock or the account, so that one answer lists all that is wrong.
 */
export type Submitted<T> =
  | { readonly isWhole: true; readonly form: T; readonly errors: readonly [] }
  | { readonly isWhole: false; readonly form: Partial<T>; readonly errors: readonly ParameterError[] }

/** The form, unless it breaks a rule: its own, or one of `more`. */
export function accepted<T>(sent: Submitted<T>, more: readonly ParameterError[] = []): Result<T, Failure> {
  if (sent.isWhole && more.length === 0) return ok(sent.form)
  return err(wrongParameters([...sent.errors, ...more]))
}

export function invalidParameter(param: string, rule: string, received: unknown): ParameterError {
  const text = typeof received === 'string' ? received : (JSON.stringify(received) ?? '')
  return { param, in: 'body', code: 'invalid_parameter', rule, received: text.slice(0, 100) }
}

export function missingParameter(param: string): ParameterError {
  return { param, in: 'body', code: 'missing_parameter', rule: 'is required', received: null }
}
