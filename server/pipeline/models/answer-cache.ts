import { modelAt } from '../../core/models/model'
import { type Money, micros, ZERO } from '../../core/money'
import type { ByteCache, Cached } from '../byte-cache'
import type { Quote } from '../call'
import { accountOf } from '../record-call'
import type { Charge, CreditUse, Load, OpenCall, Work, WorkResult } from '../work'
import { rememberItems, responseOfBody } from './item-references'
import type { KeptAnswer, KeptAnswers, ModelDeps, ValidatedCall } from './model-call'

/** Memory that an entry uses in addition to its key and its body. */
const ENTRY_BYTES = 200

/** Whether the answer to a call may come from the cache, or be kept there: no stream, and no count of tokens. */
export function isCacheable({ model, request }: Pick<ValidatedCall, 'model' | 'request'>): boolean {
  return model.answerCache !== undefined && !request.stream && request.isFree !== true
}

/**
 * Answers of models to calls of the same account with the same bytes, at the same price and upstreams. In memory of this process, and bounded in
 * bytes and time. `cache-control: no-cache` of a caller asks the model again, and `no-store` keeps nothing.
 */
export class AnswerCache implements KeptAnswers {
  private readonly answers: ByteCache<KeptAnswer>

  constructor(answers: ByteCache<KeptAnswer>) {
    this.answers = answers
  }

  find(validated: ValidatedCall): Cached<KeptAnswer> | null {
    const { answerCache } = validated.model
    if (!answerCache || !isCacheable(validated) || /no-cache|no-store/i.test(validated.call.cacheControl)) return null
    return this.answers.find(keyOf(validated), answerCache.seconds)
  }

  /** Only a charged answer may be kept: otherwise a call whose charge failed would be answered at the price of a repeat. */
  keep(validated: ValidatedCall, answer: KeptAnswer): void {
    if (/no-store/i.test(validated.call.cacheControl)) return
    this.answers.keep(keyOf(validated), answer, ENTRY_BYTES + answer.body.byteLength)
  }
}

/** The price version and the upstreams change with the entry; the fingerprint is of all that reaches the vendor. */
function keyOf({ call, model }: ValidatedCall): string {
  const { id, priceVersion, upstreams } = model
  return JSON.stringify([accountOf(call.authenticated), id, priceVersion, upstreams.map(modelAt), call.fingerprint()])
}

/** The work of a call that is answered from the cache. */
export class KeptAnswerWork implements Work {
  readonly operation: Work['operation']
  readonly model: string
  readonly quote: Quote
  readonly effect = 'read'
  readonly streams = false
  readonly timeoutMs = Number.POSITIVE_INFINITY
  readonly credit: CreditUse
  readonly needsTopUp: string | undefined
  readonly load: Load
  private readonly deps: Pick<ModelDeps, 'items'>
  private readonly validated: ValidatedCall
  private readonly kept: Cached<KeptAnswer>

  constructor(deps: Pick<ModelDeps, 'items' | 'creditBuysPaid'>, validated: ValidatedCall, kept: Cached<KeptAnswer>) {
    const { call, model, load } = validated
    const maxCost = partOf(kept.value.cost, model.answerCache?.percent ?? 100)
    this.operation = call.operation
    this.model = model.id
    this.quote = { maxCost, version: model.priceVersion, fixed: true }
    this.credit = !model.rechargeRequired || deps.creditBuysPaid ? 'all' : 'nothing'
    this.needsTopUp = model.rechargeRequired ? model.id : undefined
    // No model reads or writes them again.
    this.load = { ...load, tokens: 0 }
    this.deps = deps
    this.validated = validated
    this.kept = kept
  }

  fingerprint(): string {
    return this.validated.call.fingerprint()
  }

  async run(open: OpenCall): Promise<WorkResult> {
    const { call, request, model } = this.validated
    const { value, ageSeconds } = this.kept
    open.asked('cache')
    rememberItems(this.deps.items, call.authenticated, request, () => responseOfBody(value.body))
    const cost = this.quote.maxCost
    const lines = [{ item: 'cached_answers', units: 1, unitPrice: cost, per: 1 }] as const
    const charge: Charge = {
      charged: { cost, priceVersion: model.priceVersion, units: 1, unitPrice: cost, lines },
      code: open.hangUp.aborted ? 'caller_hung_up' : null,
      upstreamCost: ZERO,
      usageSource: 'exact',
    }
    const headers = { 'content-type': value.contentType, 'x-cache': 'hit' }
    return { kind: 'answer', body: value.body, headers, charge, ageSeconds }
  }
}

function partOf(cost: Money, percent: number): Money {
  return micros(Math.ceil((cost * percent) / 100))
}
