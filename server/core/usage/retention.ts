/** Tables whose old rows may be removed. */
export type PrunedTable = 'requests' | 'audit_log' | 'events' | 'webhook_deliveries'
