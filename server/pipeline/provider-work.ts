import type { Operation } from '../core/catalog/operation'
import type { Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import type { Result } from '../core/result'
import { type AnswerHeaders, originOf, type UnitQuote } from './call'
import { callUpstream, didNothing, HUNG_UP, toFailure } from './call-upstream'
import type { PipelineDeps } from './paid-call'
import type { CreditUse, OpenCall, Work, WorkResult } from './work'

/** One call of a provider with parsed input: a search, or an action of a linked account. */
export interface ProviderSale<I> {
  readonly operation: Pick<Operation, 'name' | 'effect' | 'timeoutMs'>
  readonly provider: Provider<I>
  readonly input: I
  readonly quote: UnitQuote
  readonly headers: AnswerHeaders
  fingerprint(): string
}

type ProviderDeps = Pick<PipelineDeps, 'onTrouble' | 'telemetry'>

/** The work of an operation that one provider answers, priced per unit of the answer. */
export function providerWork<I>(deps: ProviderDeps, sale: ProviderSale<I>): Work {
  return new ProviderWork(deps, sale)
}

class ProviderWork<I> implements Work {
  readonly operation: Work['operation']
  readonly effect: Work['effect']
  readonly streams = false
  readonly timeoutMs: number
  readonly credit: CreditUse
  readonly quote: UnitQuote
  readonly headers: AnswerHeaders
  private readonly deps: ProviderDeps
  private readonly sale: Pick<ProviderSale<I>, 'fingerprint'>
  private readonly provider: Provider<I>
  private readonly input: I

  constructor(deps: ProviderDeps, sale: ProviderSale<I>) {
    const { operation, provider, input, quote, headers } = sale
    this.operation = operation.name
    this.effect = operation.effect ?? 'read'
    this.timeoutMs = operation.timeoutMs
    this.credit = creditUse(provider.onCredit)
    this.quote = quote
    this.headers = headers
    this.deps = deps
    this.sale = sale
    this.provider = provider
    this.input = input
  }

  fingerprint(): string {
    return this.sale.fingerprint()
  }

  run(open: OpenCall): Promise<WorkResult> {
    const { provider, input } = this
    const { isCredit, hangUp, timeoutMs, authenticated } = open
    const source = (isCredit && provider.onCredit) || provider
    // A remote provider is not aborted when the caller hangs up.
    const stop = source.isLocal ? hangUp : null
    open.asked(source.name)
    const bounds = { timeoutMs, stop, telemetry: this.deps.telemetry }
    return callUpstream(source, input, originOf(authenticated), bounds).then((answer) =>
      this.result(source, open, answer),
    )
  }

  private result(source: Provider<I>, open: OpenCall, answer: Result<ProviderAnswer, UpstreamFailure>): WorkResult {
    // A hang-up may abort only a provider that costs nothing.
    if (source.isLocal && open.hangUp.aborted) return { kind: 'failed', failure: HUNG_UP, didNothing: true }
    if (!answer.ok) {
      const problem = answer.error
      if (problem.kind !== 'refused') this.deps.onTrouble(source.name, problem.reason)
      return { kind: 'failed', failure: toFailure(problem), didNothing: didNothing(problem) }
    }
    const { body, units = 1, ageSeconds, provider, cost: upstreamCost } = answer.value
    const asked = ageSeconds === undefined ? provider : 'cache'
    if (asked !== undefined) open.asked(asked)
    const charge = { charged: this.quote.charge(units), upstreamCost }
    return ageSeconds === undefined ? { kind: 'answer', body, charge } : { kind: 'answer', body, charge, ageSeconds }
  }
}

export function creditUse(onCredit: object | null | undefined): CreditUse {
  return onCredit === undefined ? 'all' : onCredit === null ? 'nothing' : 'part'
}
