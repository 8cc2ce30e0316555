/** What a settled payment proves (spec 5.3): sent as `Payment-Receipt`. */
export interface Receipt {
  readonly method: string
  readonly status: 'success'
  /** What the network calls the payment, such as a transaction hash. */
  readonly reference: string
  /** RFC 3339. */
  readonly timestamp: string
}
