import type { Operation } from '../core/catalog/operation'
import type { Provider } from '../core/providers/provider'
import { type AnswerHeaders, originOf, type UnitQuote } from './call'
import { callUpstream, HUNG_UP } from './call-upstream'
import type { PipelineDeps } from './paid-call'
import type { CreditUse, OpenCall, Work, WorkResult } from './work'

/** One call of a provider with parsed input: a search, or an action of a linked account. */
export interface ProviderSale<I> {
  readonly operation: Pick<Operation, 'name' | 'effect' | 'timeoutMs'>
  readonly provider: Provider<I>
  readonly input: I
  readonly quote: UnitQuote
  readonly headers: AnswerHeaders
  readonly fingerprint: () => string
}

/** The work of an operation that one provider answers, priced per unit of the answer. */
export function providerWork<I>(deps: Pick<PipelineDeps, 'onTrouble' | 'telemetry'>, sale: ProviderSale<I>): Work {
  const { operation, provider, quote, headers, fingerprint } = sale
  return {
    operation: operation.name,
    effect: operation.effect ?? 'read',
    streams: false,
    timeoutMs: operation.timeoutMs,
    credit: creditUse(provider.onCredit),
    quote,
    headers,
    fingerprint,
    run: (open) => ask(deps, sale, open),
  }
}

async function ask<I>(
  { onTrouble, telemetry }: Pick<PipelineDeps, 'onTrouble' | 'telemetry'>,
  { provider, input, quote }: ProviderSale<I>,
  open: OpenCall,
): Promise<WorkResult> {
  const { isCredit, hangUp, timeoutMs, authenticated } = open
  const source = (isCredit && provider.onCredit) || provider
  // A remote provider is not aborted when the caller hangs up.
  const stop = source.isLocal ? hangUp : null
  open.asked(source.name)
  const answer = await callUpstream(source, input, originOf(authenticated), { timeoutMs, stop, telemetry, onTrouble })
  // A hang-up may abort only a provider that costs nothing.
  if (source.isLocal && hangUp.aborted) return { kind: 'failed', failure: HUNG_UP, didNothing: true }
  if (!answer.ok) return { kind: 'failed', ...answer.error }
  const { body, units = 1, ageSeconds, provider: answering, cost: upstreamCost } = answer.value
  if (ageSeconds !== undefined) open.asked('cache')
  else if (answering !== undefined) open.asked(answering)
  const age = ageSeconds === undefined ? {} : { ageSeconds }
  return { kind: 'answer', body, charge: { charged: quote.charge(units), upstreamCost }, ...age }
}

export function creditUse(onCredit: object | null | undefined): CreditUse {
  return onCredit === undefined ? 'all' : onCredit === null ? 'nothing' : 'part'
}
