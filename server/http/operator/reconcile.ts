import type { CardTopUps } from '../../core/accounts/card-top-ups'
import type { Operator } from '../../core/accounts/operator'
import type { Actor } from '../../core/audit'
import type { LedgerCheck } from '../../core/ledger/ledger-check'
import { ok } from '../../core/result'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { type Reconciled, ReconcileForm } from './customer-record'
import type { Answer } from './operator-commands'
import { operatorGate } from './operator-gate'
import { type SocketCommand, socketCommand } from './socket-command'

export interface ReconcileParts {
  readonly operator: Operator
  readonly ledgerCheck: LedgerCheck
  /** Null if no card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps } | null
}

/** Checks the ledger against itself and the card processor; with `apply`, books what is missing. */
async function reconcile(
  { operator, ledgerCheck, cards }: ReconcileParts,
  actor: Actor,
  { apply = false }: ReconcileForm,
): Answer<Reconciled> {
  const missing = (await cards?.topUps.missing()) ?? []
  const booked = apply ? ((await cards?.topUps.bookMissing(missing)) ?? 0) : 0
  const compared = apply ? await cards?.topUps.compareAll(() => undefined) : undefined
  if (apply) await operator.noteBooks(actor, 'books.reconcile', { booked, corrected: compared?.corrected ?? 0 })
  return ok({
    ledger: [...(await ledgerCheck())],
    missing: missing.map(({ page, topUp, state, amount, bookable }) => ({
      ...{ page, payment: topUp?.id ?? null, account: topUp?.account ?? null },
      ...{ state, amount_micros_usd: amount, bookable },
    })),
    booked,
    corrected: compared?.corrected ?? 0,
    complete: compared?.complete ?? true,
  })
}

export function reconcileRoutes(parts: ReconcileParts & { readonly owners: OwnerSessions }) {
  const { order } = operatorGate(parts.owners)
  return routeGroup({ name: 'operator-reconcile', prefix: '/api/operator' }).post(
    '/reconcile',
    ({ context }): Promise<Reconciled> => order(context, ReconcileForm, (actor, form) => reconcile(parts, actor, form)),
    { parse: 'none', ...UNDOCUMENTED },
  )
}

export function reconcileCommand(parts: ReconcileParts, actor: Actor): SocketCommand {
  return socketCommand(ReconcileForm, (form) => reconcile(parts, actor, form))
}
