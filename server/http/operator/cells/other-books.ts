import type { CellFindings, OtherBooks } from '../../../core/accounts/cards/reconciliation'
import { isoTime } from '../../../core/clock'
import { type CellCalls, type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import { failure } from '../../../core/failure'
import { Failed } from '../../middleware/response/failures'
import { databaseAnswers } from './database-answers'

/** Asks the gateways of the other cells to compare their books. */
export function otherBooks(calls: CellCalls): OtherBooks {
  return {
    async compare({ period, apply }) {
      const cells = calls.cells().filter((cell) => cell !== MAIN_CELL)
      const up = await Promise.all(cells.map((cell) => databaseAnswers(calls, cell)))
      const [down] = cells.filter((_, at) => !up[at])
      if (down !== undefined) silent(down)
      const form = { apply, ...(period && { from: isoTime(period.from), to: isoTime(period.to) }) }
      const findings: CellFindings[] = []
      // One after the other: each asks the processor and the chains about as much as the comparison of one cell does.
      for (const cell of cells) {
        const answer = await good(cell, await calls.command(cell, 'reconcile-cell', JSON.stringify(form)))
        // Made by the same command of another gateway of this version.
        findings.push((await answer.json()) as CellFindings)
      }
      return findings
    },
  }
}

async function good(cell: CellName, answer: Response): Promise<Response> {
  if (answer.ok) return answer
  await answer.body?.cancel()
  return silent(cell)
}

function silent(cell: CellName): never {
  const message = `The cell ${cell} does not answer, and books are compared in all cells or in none. Try again.`
  throw new Failed(failure('service_unavailable', message, { retryAfterSeconds: 1 }))
}
