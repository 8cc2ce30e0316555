/** How one call of the API ended. Contains no secret, no address, no account and nothing of its input or answer. */
export interface EndedCall {
  readonly id: string
  /** From the catalog or the table of routes; `none` for a path without a route. */
  readonly operation: string
  readonly status: number
  /** Why it was refused, failed or broke off; null for a success. One of a fixed set. */
  readonly code: string | null
  /** The upstream that was asked, or the last of several; null if none was. */
  readonly upstream: string | null
  readonly ms: number
}
