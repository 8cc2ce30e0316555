/** Tables whose old rows may be removed. */
export type PrunedTable = 'requests' | 'audit_log' | 'events' | 'webhook_deliveries'

/** Removes old rows in small steps, so that concurrent writes hardly wait. Each step is one commit. */
export interface RetentionStore {
  /**
   * Removes from at most `maxRows` rows what is older than `before` (milliseconds). Of a charged call only the address, the caller's id
   * and the message go; the ledger refers to the rest. Returns whether more may be left.
   */
  prune(table: PrunedTable, before: number, maxRows: number): Promise<boolean>
}

/** How many days rows are kept; 0 keeps them. */
export interface RetentionDays {
  readonly requests: number
  readonly audit: number
  readonly events: number
}
