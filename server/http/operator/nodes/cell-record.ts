import type { Static } from '@sinclair/typebox'
import { MAIN_CELL } from '../../../core/cluster/cells'
import { instant, orNull, record, text, whole, yesOrNo } from '../../openapi/json-schema'

/** A cell as operators see it. */
export const CELL = record('One cell.', {
  name: text('Its name.'),
  owner: orNull(text('The URL of the node that owns it.'), 'nobody owns it now'),
  since: orNull(instant('Since when.'), 'nobody owns it now'),
  is_pinned: yesOrNo('Whether an operator chose the node. It stays there as long as that node lives.'),
  accounts: orNull(whole('Its accounts.'), 'the owner did not answer'),
  requests: orNull(whole('Requests whose response has not begun.'), 'the owner did not answer'),
  long_calls: orNull(whole('Calls of models, of research, and streams in progress.'), 'the owner did not answer'),
  kept_holds: orNull(whole('Holds of streams that have not ended.'), 'the owner did not answer'),
  unfinished_payments: orNull(whole('Payments that are neither served nor released.'), 'the owner did not answer'),
  stuck_records: orNull(
    whole('Records that its ledger refused, which wait for an operator.'),
    'the owner did not answer',
  ),
  commit_wait_ms: orNull(whole('How long the oldest charge has waited for its commit.'), 'the owner did not answer'),
  database_ms: orNull(whole('How long its database took to answer.'), 'the owner did not answer'),
})

export type OneCell = Static<typeof CELL>

/** All cells, `main` first. */
export interface CellReport {
  readonly cells: readonly OneCell[]
}

/** What an operator should look at in other cells than `main`, which says it of itself; null if there is nothing. */
export function cellWarning({ cells }: CellReport): string | null {
  const warnings = cells.flatMap(({ name, owner, accounts, stuck_records: stuck }) => {
    if (owner === null) return [`${name} has no owner, and its accounts get 503`]
    if (accounts === null) return [`${name} is owned by ${owner}, which does not say how it does`]
    return stuck && name !== MAIN_CELL ? [`${name} has ${stuck} stuck records: see gateway operator stuck list`] : []
  })
  return warnings.length > 0 ? warnings.join('; ') : null
}
