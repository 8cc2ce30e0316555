import type { Prices } from '../core/catalog/prices'
import type { Failure } from '../core/failure'
import type { Result } from '../core/result'
import { type Outcome, type PaidCall, refusedOutcome, takesSlot } from './call'
import { HUNG_UP } from './call-upstream'
import type { Allowance } from './decisions'
import { Sale, type SaleDeps } from './sale'
import type { Work } from './work'

export interface PipelineDeps extends SaleDeps {
  readonly prices: Prices
  readonly onTrouble: (provider: string, reason: string) => void
}

/** Reads and validates the input of a call, in its concurrency slot if it takes one. Invalid input costs nothing. */
export type PrepareWork = (allowance: Pick<Allowance, 'with'>) => Result<Work, Failure> | Promise<Result<Work, Failure>>

/**
 * The second half of every priced call (spec D2): slot, input, quote, max price, idempotency, limits, hold, upstream, charge. The only code that
 * sells. A success is answered only after its charge is durable, a failure is not charged, and everything taken is given back on every way out,
 * also by a fault in any step. A stream keeps it until it ends.
 */
export async function runPaidCall(deps: PipelineDeps, call: PaidCall, prepare: PrepareWork): Promise<Outcome> {
  const { authenticated, hangUp, options } = call
  authenticated.incoming.budgetScope = options.budgetScope
  const { trace } = authenticated.incoming
  const isLimited = takesSlot(authenticated.incoming.route)
  if (isLimited) trace?.step('admit')
  const beginning = deps.decisions.begin(authenticated)
  const begun = beginning instanceof Promise ? await beginning : beginning
  if (!begun.ok) return begun.error
  const allowance = begun.value
  let sale: Sale | null = null
  try {
    if (isLimited) trace?.step('read')
    const preparing = prepare(allowance)
    const prepared = preparing instanceof Promise ? await preparing : preparing
    if (!prepared.ok) return refusedOutcome(prepared.error)
    sale = new Sale(deps, call, allowance, prepared.value)
    const answering = sale.unsold()
    const unsold = answering instanceof Promise ? await answering : answering
    if (unsold !== null) return unsold
    const holding = sale.hold()
    const refusal = holding instanceof Promise ? await holding : holding
    if (refusal !== null) return refusal
    if (hangUp.aborted) return await sale.refuse(HUNG_UP)
    const running = sale.run()
    return await sale.settle(running instanceof Promise ? await running : running)
  } finally {
    const ending = sale ? sale.leave() : allowance.release(0)
    if (ending !== null) await ending
  }
}
