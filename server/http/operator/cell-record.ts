import type { Static } from '@sinclair/typebox'
import { instant, orNull, record, text, whole, yesOrNo } from '../openapi/json-schema'

/** A cell as operators see it. */
export const CELL = record('One cell.', {
  name: text('Its name.'),
  owner: orNull(text('The URL of the node that owns it.'), 'nobody owns it now'),
  since: orNull(instant('Since when.'), 'nobody owns it now'),
  is_pinned: yesOrNo('Whether an operator chose the node. It stays there as long as that node lives.'),
  accounts: orNull(whole('Its accounts.'), 'the owner did not answer'),
  requests: orNull(whole('Requests whose response has not begun.'), 'the owner did not answer'),
  long_calls: orNull(whole('Calls of models, of research, and streams in progress.'), 'the owner did not answer'),
})

export type OneCell = Static<typeof CELL>

/** All cells, `main` first. */
export interface CellReport {
  readonly cells: readonly OneCell[]
}
