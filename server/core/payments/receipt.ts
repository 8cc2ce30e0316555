/** What a settled payment proves (spec 5.3). */
export interface Receipt {
  readonly method: string
  readonly status: 'success'
  /** What the network calls the payment, such as a transaction hash. */
  readonly reference: string
  /** RFC 3339. */
  readonly timestamp: string
}

/** The wire form of the `Payment` scheme, `Payment-Receipt`: base64url of its JSON. */
export function receiptText(receipt: Receipt): string {
  return Buffer.from(JSON.stringify(receipt)).toString('base64url')
}

/** A receipt as it leaves: in the wire form of each protocol that its payer may speak. */
export interface GivenReceipt extends Receipt {
  /** Header name to value. */
  readonly headers: Readonly<Record<string, string>>
}
