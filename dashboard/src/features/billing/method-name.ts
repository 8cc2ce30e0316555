import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'

/** How money came in, in words; a method that is not known here by its own name. */
export function methodName(method: string): string {
  return Object.entries(TEXT.methodNames).find(([name]) => name === method)?.[1] ?? method
}
