import type { Static } from '@sinclair/typebox'
import { isoTime } from '../../../core/clock'
import { isDue, type StuckRecord, stuckAmount, stuckKind } from '../../../core/ledger/stuck-record'
import type { Page } from '../../../core/page'
import { form, instant, line, listOf, microsUsd, oneOf, orNull, record, text, yesOrNo } from '../../openapi/json-schema'

const MAX_NOTE = 500

export const DiscardForm = form('Discards a stuck record.', {
  note: line('Why it is discarded, for the audit log.', MAX_NOTE),
})

export const OneStuck = record('A record of the ledger that the tables refuse.', {
  id: text('Its id.'),
  at: instant('When it was made.'),
  account: orNull(text('Id of its account, whose calls are refused meanwhile.'), 'it names none'),
  request_id: orNull(text('Id of its call.'), 'it names none'),
  operation: orNull(text('What was called.'), 'no call'),
  kind: oneOf(['charge', 'reversal', 'other'], '`reversal`: gives back a charge whose caller got a 503.'),
  amount_micros_usd: microsUsd('What it charges or gives back.'),
  reason: text('The rule that it breaks, as the database names it.'),
  due: yesOrNo('Whether it can be booked. No for a charge whose caller got a 503 and was not charged: discard it.'),
})
export type OneStuck = Static<typeof OneStuck>

export const StuckPage = record('Stuck records.', {
  records: listOf(OneStuck, 'Oldest first.'),
  next_cursor: orNull(text('For the next page.'), 'this is the last page'),
})
export type StuckPage = Static<typeof StuckPage>

export function stuckRecord(stuck: StuckRecord): OneStuck {
  const { id, at, accountId, requestId, reason, record } = stuck
  return {
    id,
    at: isoTime(at),
    account: accountId,
    request_id: requestId,
    reason,
    operation: (record.call ?? record.undoes ?? record.keeps?.call)?.operation ?? null,
    kind: stuckKind(record),
    amount_micros_usd: stuckAmount(record),
    due: isDue(stuck),
  }
}

export function stuckPage({ rows, next }: Page<StuckRecord>): StuckPage {
  return { records: rows.map(stuckRecord), next_cursor: next }
}
