import { BILLING_WORDS as WORDS } from '../../words/billing.ts'

/** How money came in, in words; a method that is not known here by its own name. */
export function methodName(method: string): string {
  return Object.entries(WORDS.methodNames).find(([name]) => name === method)?.[1] ?? method
}
