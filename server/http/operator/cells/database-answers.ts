import type { CellCalls, CellName } from '../../../core/cluster/cells'
import { inTime } from '../../../core/in-time'
import { isJson } from '../../../core/json'

const MAX_MS = 5_000

/** Whether the owner of a cell reaches the cell's database: it finds out within 2 s, where a query would wait for 30. */
export async function databaseAnswers(calls: Pick<CellCalls, 'command'>, cell: CellName): Promise<boolean> {
  try {
    const answer = await inTime(calls.command(cell, 'ready', ''), MAX_MS, () => new Error('late'))
    const details: unknown = await answer.json()
    return isJson(details) && isJson(details['checks']) && details['checks']['database'] === true
  } catch {
    return false
  }
}
