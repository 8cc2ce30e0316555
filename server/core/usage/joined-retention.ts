import type { PrunedTable, RetentionStore } from './retention'

/** The tables that every database has. */
const IN_EACH: readonly PrunedTable[] = ['audit_log', 'events']

/** The old rows of a control database and of a cell. */
export class JoinedRetention implements RetentionStore {
  private readonly control: RetentionStore
  private readonly cell: RetentionStore

  constructor(control: RetentionStore, cell: RetentionStore) {
    this.control = control
    this.cell = cell
  }

  async prune(table: PrunedTable, before: number, maxRows: number): Promise<boolean> {
    const isMoreInCell = await this.cell.prune(table, before, maxRows)
    const isMoreInControl = IN_EACH.includes(table) && (await this.control.prune(table, before, maxRows))
    return isMoreInCell || isMoreInControl
  }
}
