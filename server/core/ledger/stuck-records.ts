import { type Actor, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type Failure, failure } from '../failure'
import { makeId, type StuckId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { type Page, pageOf } from '../page'
import { err, ok, type Result } from '../result'
import type { LedgerEntry } from './entry'
import type { HoldStore } from './hold'
import { type AppendOutcome, appended, type Journal, type JournalRecord } from './journal'
import { isDue, type StuckRecord, type StuckStore, stuckAmount, stuckKind } from './stuck-record'

type Decision = 'retry' | 'discard'

interface StuckRecordsParts {
  readonly store: StuckStore
  readonly journal: Pick<Journal, 'append'>
  readonly holds: Pick<HoldStore, 'load' | 'corrected'>
  readonly clock: Clock
}

/**
 * Decisions of operators about stuck records (ADR 10). One decision at a time. The record leaves its table in the commit that books it
 * or discards it, so it is decided once; its account can spend again when it has no stuck record.
 */
export class StuckRecords {
  private readonly parts: StuckRecordsParts
  private readonly mutex = new KeyedMutex()

  constructor(parts: StuckRecordsParts) {
    this.parts = parts
  }

  /** A page of them, oldest first. A cursor is any text: it only sorts. */
  async page(limit: number, cursor: StuckId | null): Promise<Page<StuckRecord>> {
    return pageOf(await this.parts.store.page(limit + 1, cursor), limit)
  }

  async find(id: StuckId): Promise<Result<StuckRecord, Failure>> {
    const stuck = await this.parts.store.byId(id)
    return stuck ? ok(stuck) : err(failure('resource_not_found', `There is no stuck record ${id.slice(0, 100)}.`))
  }

  /** Books it as it is, once its cause is fixed. Refused while the tables still refuse it. */
  retry(actor: Actor, id: StuckId): Promise<Result<StuckRecord, Failure>> {
    return this.decided(id, async (stuck) => {
      if (!isDue(stuck))
        return err(
          failure(
            'invalid_state',
            'Its caller got a 503 and was not charged, so there is nothing to book. Discard it.',
          ),
        )
      const record = { ...stuck.record, settles: id, audit: this.audit(actor, stuck, 'retry', {}) }
      const refusal = await this.refusalOf(record)
      if (refusal !== null)
        return err(failure('invalid_state', `The tables still refuse it, and nothing was changed: ${refusal}.`))
      if (!this.parts.store.isCounted(stuck)) this.correct(stuck, 1)
      return ok(stuck)
    })
  }

  /**
   * Discards it. The served answer of a charge becomes an overrun: the gateway bears it, and the account gets back what the
   * counters took. A reversal that is discarded leaves its charge.
   */
  discard(actor: Actor, id: StuckId, note: string): Promise<Result<StuckRecord, Failure>> {
    return this.decided(id, async (stuck) => {
      const settled = { settles: id, audit: this.audit(actor, stuck, 'discard', { note }) }
      let refusal: string | null = null
      for (const record of this.withoutCharge(stuck)) {
        refusal = await this.refusalOf({ ...record, ...settled })
        if (refusal === null) break
      }
      if (refusal !== null)
        return err(failure('invalid_state', `It could not be discarded, and nothing was changed: ${refusal}.`))
      if (this.parts.store.isCounted(stuck)) this.correct(stuck, -1)
      return ok(stuck)
    })
  }

  /** The warning of `/ready` for operators; null while nothing is stuck. */
  async warning(): Promise<string | null> {
    const { records, accounts } = await this.parts.store.counts()
    if (records === 0) return null
    return `${records} stuck records close ${accounts} accounts: see gateway operator stuck list`
  }

  private decided(
    id: StuckId,
    decide: (stuck: StuckRecord) => Promise<Result<StuckRecord, Failure>>,
  ): Promise<Result<StuckRecord, Failure>> {
    return this.mutex.take('stuck', async () => {
      const found = await this.find(id)
      if (!found.ok) return found
      const { change, spent } = found.value.record
      if (change) await this.parts.holds.load(change.accountId, spent?.poolId)
      const outcome = await decide(found.value)
      if (outcome.ok) await this.parts.store.refresh()
      return outcome
    })
  }

  /** Null once the record is durable. Waits for the outcome, however long the database takes. */
  private async refusalOf(record: JournalRecord): Promise<string | null> {
    const outcome: AppendOutcome = await appended(this.parts.journal, record)
    if (outcome.kind === 'refused') return outcome.reason
    const fate = outcome.kind === 'unknown' ? await outcome.fate : outcome.kind
    return fate === 'committed' ? null : 'the database did not take it'
  }

  /** The records to write in its place, best first: the tables may refuse the call, or know no such account. */
  private withoutCharge(stuck: StuckRecord): readonly JournalRecord[] {
    const { record } = stuck
    if (stuck.source === 'direct' || stuckKind(record) !== 'charge') return [{ entries: [] }]
    const entries = [...record.entries.filter(({ kind }) => kind === 'overrun'), this.overrun(stuck)]
    const { call, kept } = record
    return [
      { ...(call && { call: { ...call, charged: null } }), ...(kept && { kept }), entries },
      { entries: entries.map((entry) => ({ ...entry, accountId: null, requestId: null })) },
    ]
  }

  private overrun({ record, accountId, requestId }: StuckRecord): LedgerEntry {
    const at = this.parts.clock.now()
    return {
      transaction: makeId('txn', at),
      kind: 'overrun',
      debit: 'house/overrun',
      credit: 'house/revenue',
      at,
      accountId,
      requestId,
      amount: stuckAmount(record),
      reference: null,
      description: `${record.call?.operation ?? 'a call'}, charge discarded`,
    }
  }

  /** 1: the counters follow what was booked. -1: they take back what they had. */
  private correct({ at, record: { call, undoes, change, spent } }: StuckRecord, sign: 1 | -1): void {
    if (!change) return
    const { accountId: account, credit, paid } = change
    const amounts = { credit: sign * credit, paid: sign * paid }
    this.parts.holds.corrected({
      account,
      ...amounts,
      ...(spent && {
        spent: {
          poolId: spent.poolId,
          amount: sign * spent.amount,
          at: (call ?? undoes)?.at ?? at,
          scope: (call ?? undoes)?.scope,
        },
      }),
    })
  }

  private audit(actor: Actor, stuck: StuckRecord, decision: Decision, more: Readonly<Record<string, unknown>>) {
    const { id, accountId, requestId: request, reason, record } = stuck
    const detail = { id, request, kind: stuckKind(record), amount: stuckAmount(record), reason, ...more }
    return auditEntry({ at: this.parts.clock.now(), actor, action: `stuck.${decision}`, accountId, detail })
  }
}
