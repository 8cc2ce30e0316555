import type { Operation, Price } from '../core/catalog/operation'
import type { Parameters, ParameterTable } from '../core/catalog/parameters'
import { currentPrice, type Prices } from '../core/catalog/prices'
import type { Failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import { type Money, times } from '../core/money'
import { fingerprintOf } from '../core/payments/binding'
import type { Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { ok, type Result } from '../core/result'
import type { Charged } from '../core/usage/call-record'
import { type AnswerHeaders, originOf, type Quote } from './call'
import { callUpstream, didNothing, HUNG_UP, toFailure } from './call-upstream'
import type { PipelineDeps } from './paid-call'
import type { CreditUse, OpenCall, Work, WorkResult } from './work'

/** Quotes units at the operation's price. A fixed price is one unit. */
export function quoteOf<T extends ParameterTable>(
  prices: Prices,
  operation: Operation<T>,
  input: Parameters<T>,
  account: AccountId | null,
): UnitQuote {
  const { metering } = operation
  const price = currentPrice(prices, metering ? metering.priceName(input) : operation.name, account)
  return new UnitQuote(price, metering ? metering.maxUnits(input) : 1)
}

/** The quote of an operation that is priced per unit. */
export class UnitQuote implements Quote {
  readonly maxCost: Money
  readonly version: string
  readonly fixed: boolean
  private readonly price: Price
  private readonly maxUnits: number

  constructor(price: Price, maxUnits: number) {
    this.maxCost = times(price.amount, maxUnits)
    this.version = price.version
    this.fixed = maxUnits === 1
    this.price = price
    this.maxUnits = maxUnits
  }

  /** The charge for an answer of this many units. Throws if there are more than were held for, which is a bug in the provider. */
  charge(units: number): Charged {
    const { amount, version } = this.price
    if (units > this.maxUnits) throw new Error(`an answer of ${units} units, but only ${this.maxUnits} were held for`)
    return { cost: times(amount, units), priceVersion: version, units, unitPrice: amount }
  }
}

/** One call of a provider with parsed input: a search, or an action of a linked account. */
export interface ProviderSale<T extends ParameterTable> {
  readonly operation: Operation<T>
  readonly provider: Provider<Parameters<T>>
  readonly input: Parameters<T>
  readonly account: AccountId | null
  readonly headers: AnswerHeaders
  /** What the input came in: attempts of one request have the same. */
  readonly request: { readonly method: string; readonly path: string; readonly url: URL }
}

type ProviderDeps = Pick<PipelineDeps, 'onTrouble' | 'telemetry' | 'prices'>

/** The work of an operation that one provider answers, priced per unit of the answer at the price of now. */
export class ProviderWork<T extends ParameterTable> implements Work {
  readonly operation: Work['operation']
  readonly effect: Work['effect']
  readonly streams = false
  readonly timeoutMs: number
  readonly credit: CreditUse
  readonly quote: UnitQuote
  readonly headers: AnswerHeaders
  private readonly deps: ProviderDeps
  private readonly sale: ProviderSale<T>

  constructor(deps: ProviderDeps, sale: ProviderSale<T>) {
    const { operation, provider, input, account, headers } = sale
    this.operation = operation.name
    this.effect = operation.effect ?? 'read'
    this.timeoutMs = operation.timeoutMs
    this.credit = creditUse(provider.onCredit)
    this.quote = quoteOf(deps.prices, operation, input, account)
    this.headers = headers
    this.deps = deps
    this.sale = sale
  }

  fingerprint(): string {
    const { request, input } = this.sale
    const { method, path, url } = request
    return fingerprintOf({ method, path, query: url.searchParams, input })
  }

  requote(): Result<Work, Failure> {
    return ok(new ProviderWork(this.deps, this.sale))
  }

  run(open: OpenCall): Promise<WorkResult> {
    const { provider, input } = this.sale
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

  private result(
    source: Provider<Parameters<T>>,
    open: OpenCall,
    answer: Result<ProviderAnswer, UpstreamFailure>,
  ): WorkResult {
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
