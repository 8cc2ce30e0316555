import type { Reconciliation, ReconciliationRun } from '../../../core/accounts/cards/reconciliation'
import { parseInstant } from '../../../core/accounts/instant'
import { invalidParameter } from '../../../core/accounts/submitted'
import type { Actor } from '../../../core/audit'
import { isoTime } from '../../../core/clock'
import { type Failure, wrongParameters } from '../../../core/failure'
import type { UnknownCheckoutStore } from '../../../core/payments/card-checkout'
import { err, ok, type Result } from '../../../core/result'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { readBody } from '../../middleware/input/validate-body'
import { routeGroup } from '../../middleware/request-context'
import type { Connection } from '../../middleware/response/csv'
import { taken } from '../../middleware/response/failures'
import { heldOpen } from '../../middleware/response/held-open'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { type CommandResult, operatorRoles } from '../operator-roles'
import { type Reconciled, ReconcileForm, type Reconciliations } from './reconcile-record'

export interface ReconcileParts {
  readonly reconciliation: Reconciliation
  readonly unknownCheckouts: Pick<UnknownCheckoutStore, 'unresolved'>
  readonly now: () => number
}

const MAX_RUNS = 20

/**
 * Compares the books with themselves, the card processor and the chains; with `apply`, books what is missing. The run is kept.
 * A long comparison is answered in pieces.
 */
async function reconcile(
  { reconciliation, now }: ReconcileParts,
  actor: Actor,
  form: ReconcileForm,
  connection: Connection,
): CommandResult<Reconciled | Response> {
  const period = periodOf(form, now())
  if (!period.ok) return period
  const run = reconciliation.run({ actor, period: period.value, apply: form.apply ?? false })
  return ok(await heldOpen(connection, run.then(reconciledRecord)))
}

function periodOf({ from, to }: ReconcileForm, now: number): Result<{ from: number; to: number } | null, Failure> {
  if (from === undefined && to === undefined) return ok(null)
  const [start, end] = [parseInstant(from ?? ''), to === undefined ? now : parseInstant(to)]
  if (start === null) return err(wrongParameters([invalidParameter('from', 'is needed with to', from ?? null)]))
  if (end === null || end <= start)
    return err(wrongParameters([invalidParameter('to', 'must be after from', to ?? null)]))
  return ok({ from: start, to: end })
}

/** The last comparisons, and pages that wait for a decision. */
async function reconciliations({ reconciliation, unknownCheckouts }: ReconcileParts): Promise<Reconciliations> {
  const [runs, unknown] = await Promise.all([reconciliation.newest(MAX_RUNS), unknownCheckouts.unresolved()])
  const [last] = runs
  return {
    runs: runs.map(({ id, actor, startedAt, endedAt, isApplied, isComplete, problems }) => ({
      id,
      actor,
      started_at: isoTime(startedAt),
      ended_at: isoTime(endedAt),
      applied: isApplied,
      complete: isComplete,
      problems,
    })),
    last: last ? reconciledRecord(last) : null,
    unknown_pages: unknown.map(({ page, payment, messages, firstAt, lastAt }) => ({
      page,
      payment,
      messages,
      first_at: isoTime(firstAt),
      last_at: isoTime(lastAt),
    })),
  }
}

export function reconcileRoutes(parts: ReconcileParts & { readonly owners: OwnerSessions }) {
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-reconcile', prefix: '/api/operator' })
    .post(
      '/reconcile',
      ...allowed(operator(), UNDOCUMENTED, async ({ actor, context }) =>
        taken(await reconcile(parts, actor, await readBody(ReconcileForm, context, {}), context)),
      ),
    )
    .get('/reconciliations', ...allowed(operator(), UNDOCUMENTED, () => reconciliations(parts)))
}

export function reconciledRecord({
  id,
  actor,
  startedAt,
  isApplied,
  isComplete,
  problems,
  result,
}: ReconciliationRun): Reconciled {
  const { ledger, missing, booked, cards, chain } = result
  return {
    id,
    actor,
    started_at: isoTime(startedAt),
    applied: isApplied,
    complete: isComplete,
    problems,
    booked,
    corrected: cards?.corrected ?? 0,
    ledger: [...ledger],
    missing: missing.map(({ page, topUp, state, amount, bookable }) => ({
      page,
      payment: topUp?.id ?? null,
      account: topUp?.account ?? null,
      state,
      amount_micros_usd: amount,
      bookable,
    })),
    cards: cards && {
      from: isoTime(cards.from),
      to: isoTime(cards.to),
      compared: cards.compared,
      corrected: cards.corrected,
      complete: cards.complete,
      differences: cards.differences.map(({ what, id: there, payment, account, atProcessor, here }) => ({
        what,
        id: there,
        payment,
        account,
        at_processor_micros_usd: atProcessor,
        here_micros_usd: here,
      })),
    },
    chain: chain && {
      from: isoTime(chain.from),
      to: isoTime(chain.to),
      payments: chain.payments,
      transfers: chain.transfers,
      booked: chain.booked,
      complete: chain.complete,
      problems: chain.problems.map(({ here, onChain, at, ...problem }) => ({
        ...problem,
        here_micros_usd: here,
        on_chain_micros_usd: onChain,
        at: at === null ? null : isoTime(at),
      })),
    },
  }
}
