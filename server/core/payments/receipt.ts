import type { Money } from '../money'

/** The proof of a settled payment (spec 5.3). */
export interface Receipt {
  readonly method: string
  readonly status: 'success'
  /** The network's id of the payment, such as a transaction hash. */
  readonly reference: string
  /** RFC 3339. */
  readonly timestamp: string
}

/** The value of `Payment-Receipt`, as the `Payment` scheme defines it: the receipt's JSON in base64url. */
export function receiptText(receipt: Receipt): string {
  return Buffer.from(JSON.stringify(receipt)).toString('base64url')
}

/** A receipt with its response headers, for each protocol that the payer may use. */
export interface DeliveredReceipt extends Receipt {
  /** The payment. */
  readonly amount: Money
  /** Header name to value. */
  readonly headers: Readonly<Record<string, string>>
}
