import type { PriceStore } from '../core/catalog/prices'
import { type Failure, failure, uncharged } from '../core/failure'
import type { Ledger } from '../core/ledger/ledger'
import type { WatchedJournal } from '../core/ledger/watched-journal'
import type { Limiter, LimitRefusal, Readings, Ticket } from '../core/limits/limiter'
import { formatUsd, type Money, ZERO } from '../core/money'
import { err, ok, type Result } from '../core/result'
import { limitFailure } from './auth/authenticate'
import type { Caller, Outcome, PaidCall, RefusedOutcome } from './call'
import { HUNG_UP } from './call-upstream'
import type { Drain, Drains } from './drains'
import type { Funding, Reservation } from './funding/funding'
import { HeldCall, type HeldCallDeps } from './held-call'
import type { Ending, FirstCaller, Idempotency, KeyUse } from './idempotency/idempotency'
import { accountOf } from './record-call'
import { spendable } from './spendable'
import type { Load, PrepareWork, Work, WorkResult } from './work'

export interface PipelineDeps extends HeldCallDeps {
  readonly limiter: Limiter
  readonly ledger: Ledger
  /** Whether charges can be written. */
  readonly charges: Pick<WatchedJournal, 'isFailing' | 'recovers'>
  readonly prices: PriceStore
  /** Funding of a call with a key, of one with a payment, and of one with neither. */
  readonly funding: { readonly balance: Funding; readonly payment: Funding; readonly none: Funding }
  readonly idempotency: Idempotency
  readonly drains: Drains
  readonly onTrouble: (provider: string, reason: string) => void
}

/** A call with its work, and what it took before any money was held. */
interface Sale {
  readonly deps: PipelineDeps
  readonly call: PaidCall
  readonly work: Work
  readonly slot: Ticket | null
  readonly first: FirstCaller | null
}

/** How a sale ended. `end` tells repeats whether anything may have happened upstream; null while a stream is open. */
interface SaleResult {
  readonly outcome: Outcome
  readonly end: Ending | null
}

/**
 * The second half of every priced call (spec D2): slot, input, quote, max price, idempotency, limits, hold, upstream, charge.
 * Each step takes at most one resource, and everything taken is given back on every way out. A success is answered only after
 * its charge is durable, a failure is not charged, and a stream keeps its resources until it ends.
 */
export async function runPaidCall(deps: PipelineDeps, call: PaidCall, prepare: PrepareWork): Promise<Outcome> {
  const { authenticated } = call
  const { trace } = authenticated.incoming
  if (call.takesSlot) trace?.step('admit')
  const entered = call.takesSlot ? deps.limiter.enter(authenticated.subjects) : null
  if (entered !== null && !entered.ok) return overLimit(entered.error, authenticated.caller)
  const slot = entered?.value ?? null
  let goesOn = false
  try {
    if (call.takesSlot) trace?.step('read')
    const prepared = prepare(slot)
    const work = prepared instanceof Promise ? await prepared : prepared
    const outcome = work.ok ? await checkAndSell(deps, call, work.value, slot) : refused(work.error)
    goesOn = outcome.kind === 'streaming'
    return outcome
  } finally {
    if (!goesOn) slot?.finish(0)
  }
}

/** Decides what comes before limits and money: quote, maximum price, repeat. */
function checkAndSell(deps: PipelineDeps, call: PaidCall, work: Work, slot: Ticket | null): Outcome | Promise<Outcome> {
  const { quote, maxPrice, idempotencyKey } = call.options
  if (quote) return quoted(deps, call, work)
  if (maxPrice !== null && work.quote.maxCost > maxPrice) return tooExpensive(work.quote.maxCost, maxPrice)
  return idempotencyKey === null ? sell({ deps, call, work, slot, first: null }) : sellOnce(deps, call, work, slot)
}

async function quoted({ ledger }: PipelineDeps, { authenticated }: PaidCall, { quote }: Work): Promise<Outcome> {
  return { kind: 'quoted', quote, balance: await spendable(ledger, authenticated) }
}

async function sellOnce(deps: PipelineDeps, call: PaidCall, work: Work, slot: Ticket | null): Promise<Outcome> {
  const use = await keyUseOf(deps.idempotency, call, work)
  if (!use.ok) return refused(use.error)
  if (use.value?.kind === 'repeat') return { ...use.value, kind: 'repeated' }
  return sell({ deps, call, work, slot, first: use.value?.first ?? null })
}

/** Limits, money, upstream, charge. */
async function sell(sale: Sale): Promise<Outcome> {
  const { first, work } = sale
  let open: HeldCall | null = null
  let end: Ending | null = work.effect === 'write' ? 'unknown' : 'nothing'
  try {
    const holding = hold(sale)
    const held = holding instanceof Promise ? await holding : holding
    if (!(held instanceof HeldCall)) {
      end = 'nothing'
      return held
    }
    open = held
    // From here on a hang-up changes nothing (ADR 18).
    const done = sale.call.hangUp.aborted
      ? await releaseAndRefuse(sale, open, HUNG_UP)
      : await settle(sale, open, await resultOf(sale, open))
    end = done.end
    return done.outcome
  } finally {
    const closing = end ? ended(open, first, end) : null
    if (closing !== null) await closing
  }
}

function ended(open: HeldCall | null, first: FirstCaller | null, end: Ending): Promise<void> | null {
  if (open) return open.isOver ? null : open.close(end)
  return first?.end(end) ?? null
}

/** Takes the limits and holds the money in one step, or returns what is missing. */
function hold(sale: Sale): HeldCall | RefusedOutcome | Promise<HeldCall | RefusedOutcome> {
  const { deps, call, work, slot } = sale
  const { trace } = call.authenticated.incoming
  trace?.step('admit')
  const load = work.load && slot ? takeLoad(deps, call, work.load, slot) : null
  if (load?.kind === 'refused') return load
  trace?.step('hold')
  const drain = load?.drain ?? null
  const isDoubtful = deps.charges.isFailing || (work.needsTopUp !== undefined && !hasToppedUp(sale))
  const reserving = isDoubtful ? checkAndReserve(sale) : reserve(sale)
  if (reserving instanceof Promise || !reserving.ok) return holdLater(sale, reserving, drain)
  return new HeldCall(sale, reserving.value, drain)
}

function reserve({ deps, call, work }: Sale): ReturnType<Funding['reserve']> {
  return fundingOf(deps, call).reserve(work, call.authenticated)
}

/** Whether its account is known to have topped up. */
function hasToppedUp({ deps, call }: Sale): boolean {
  return (deps.ledger.toppedUp(accountOf(call.authenticated)) ?? ZERO) > 0
}

async function checkAndReserve(sale: Sale): Promise<Result<Reservation, Failure>> {
  const { deps, call, work } = sale
  if (deps.charges.isFailing && !(await deps.charges.recovers())) return err(NOT_CHARGEABLE)
  const lacking = work.needsTopUp === undefined ? null : await missingTopUp(deps.ledger, call, work.needsTopUp)
  return lacking ? err(lacking) : reserve(sale)
}

async function holdLater(
  sale: Sale,
  reserving: ReturnType<Funding['reserve']>,
  drain: Drain | null,
): Promise<HeldCall | RefusedOutcome> {
  const { work, slot } = sale
  const reserved = await reserving
  if (reserved.ok) return new HeldCall(sale, reserved.value, drain)
  slot?.finish(0)
  const problem = work.explainRefusal ? await work.explainRefusal(reserved.error) : reserved.error
  return refused(problem, readings(sale))
}

/** Calls the upstream, unless an earlier attempt has its answer. */
function resultOf({ work, call }: Sale, open: HeldCall): WorkResult | Promise<WorkResult> {
  const { undeliveredAnswer } = open.reservation
  call.authenticated.incoming.trace?.step('upstream')
  return undeliveredAnswer ? paidBefore(work, undeliveredAnswer) : work.run(open)
}

/** Charges what the upstream gave. */
function settle(sale: Sale, open: HeldCall, result: WorkResult): Promise<SaleResult> {
  switch (result.kind) {
    case 'answer':
      return settleAnswer(sale, open, result)
    case 'stream':
      return openStream(sale, open, result)
    case 'failed':
      return settleFailure(sale, open, result)
  }
}

async function settleFailure(
  sale: Sale,
  open: HeldCall,
  { failure: problem, owed, didNothing }: Extract<WorkResult, { kind: 'failed' }>,
): Promise<SaleResult> {
  // A caller who hung up may be charged for the cost. The reply is the same as for any failure, and is not read.
  const charged = owed && (await open.charge(owed, 'cut'))
  if (charged?.ok) return { outcome: { ...refused(problem), isCharged: true }, end: 'done' }
  const end = sale.work.effect === 'write' && !didNothing ? 'unknown' : 'nothing'
  return releaseAndRefuse(sale, open, open.reservation.isPaid ? stillGood(problem) : problem, end)
}

async function settleAnswer(
  sale: Sale,
  open: HeldCall,
  answer: Extract<WorkResult, { kind: 'answer' }>,
): Promise<SaleResult> {
  const { work } = sale
  const { body, charge, ageSeconds, status } = answer
  const headers = { ...work.headers, ...answer.headers }
  const captured = await open.charge(charge, { body, headers, ...(status !== undefined && { status }) })
  if (!captured.ok) return releaseAndRefuse(sale, open, captured.error, work.effect === 'write' ? 'unknown' : 'nothing')
  if (answer.onCharged) await answer.onCharged()
  const { cost, receipt } = captured.value
  const age = ageSeconds === undefined ? headers : { ...headers, age: String(ageSeconds) }
  const outcome = { kind: 'served', body, headers: age, cost, receipt, readings: readings(sale) } as const
  return { outcome: status === undefined ? outcome : { ...outcome, status }, end: 'done' }
}

/** A stream's hold must be durable before its first byte (ADR 10). A free stream has nothing to settle. */
async function openStream(
  sale: Sale,
  open: HeldCall,
  stream: Extract<WorkResult, { kind: 'stream' }>,
): Promise<SaleResult> {
  const { work } = sale
  let isOpen = false
  try {
    if (work.quote.maxCost > 0 && !(await open.persist(stream.lost)))
      return await releaseAndRefuse(sale, open, NOT_PREPARED)
    const now = readings(sale)
    const body = stream.open()
    isOpen = true
    open.streams()
    const headers = { ...work.headers, ...stream.headers }
    const outcome = { kind: 'streaming', body, headers, readings: now } as const
    return { outcome: stream.status === undefined ? outcome : { ...outcome, status: stream.status }, end: null }
  } finally {
    if (!isOpen) stream.close()
  }
}

async function releaseAndRefuse(
  sale: Sale,
  open: HeldCall,
  problem: Failure,
  end: Ending = 'nothing',
): Promise<SaleResult> {
  const upstream = open.upstreamUse(sale.deps.clock.now())
  await open.giveBack()
  const held = sale.work.quote.maxCost
  return { outcome: { ...refused(problem, readings(sale)), upstream, held }, end }
}

/** The current windows of a call with a concurrency slot. For any other call, those that `authenticate` read are still right. */
function readings({ deps, call, work, slot }: Sale): Readings | undefined {
  return slot ? deps.limiter.read(work.load?.subjects ?? call.authenticated.subjects) : undefined
}

function refused(problem: Failure, now?: Readings): RefusedOutcome {
  return { kind: 'refused', failure: problem, readings: now }
}

/** The answer that an earlier attempt with this payment got but could not deliver. It is paid, whatever the charge says. */
function paidBefore({ quote: { maxCost, version } }: Work, body: string): WorkResult {
  return {
    kind: 'answer',
    body,
    charge: { charged: { cost: maxCost, priceVersion: version, units: 1, unitPrice: maxCost } },
  }
}

const NOT_PREPARED = uncharged('service_unavailable', 'The charge could not be prepared. Try again.', {
  retryAfterSeconds: 1,
})

/** While the disk is full: what cannot be charged costs the vendor nothing. */
const NOT_CHARGEABLE = failure(
  'service_unavailable',
  'Charges cannot be recorded at the moment, so this request was not started. Try again.',
  { retryAfterSeconds: 1 },
)

/** The failure for a payer whose payment settled before there was an answer: the credential is good for another attempt. */
function stillGood(problem: Failure): Failure {
  return {
    ...problem,
    uncharged: false,
    message: `${problem.message} Your payment went through: send the request again with the same credential; do not pay again.`,
  }
}

function fundingOf({ funding }: PipelineDeps, { authenticated: { caller, incoming } }: PaidCall): Funding {
  if (caller.kind !== 'anonymous') return funding.balance
  return incoming.credential.kind === 'payment' ? funding.payment : funding.none
}

/** The refusal of what requires a first top-up, or null. */
async function missingTopUp(ledger: Ledger, { authenticated }: PaidCall, what: string): Promise<Failure | null> {
  const balance = await ledger.balance(accountOf(authenticated))
  if (balance && balance.toppedUp > 0) return null
  return failure(
    'recharge_required',
    `${what} requires a first top-up. Signup credit pays only for models with "recharge_required": false.`,
  )
}

function tooExpensive(price: Money, maxPrice: Money): RefusedOutcome {
  const message = `This request costs ${formatUsd(price)} USD, more than the ${formatUsd(maxPrice)} USD of X-Max-Price-USD.`
  return refused(failure('estimated_price_exceeds_max_price', message, { param: 'x-max-price-usd' }))
}

/**
 * Takes what a call needs of its caller's limits besides its place: a request of its own window, and its likely tokens. Refuses
 * an account that has too many calls running after their callers hung up.
 */
function takeLoad(
  { limiter, drains }: { readonly limiter: Limiter; readonly drains: Drains },
  { authenticated, hangUp }: Pick<PaidCall, 'authenticated' | 'hangUp'>,
  load: Load,
  place: Ticket,
): { readonly kind: 'taken'; readonly drain: Drain } | RefusedOutcome {
  const { caller, subjects } = authenticated
  const counted = load.window && limiter.countRequest([load.window])
  if (counted && !counted.ok)
    return {
      kind: 'refused',
      failure: limitFailure(counted.error, caller),
      readings: limiter.read(load.subjects),
    }
  const account = accountOf(authenticated)
  const problem = drains.refusal(account, subjects[0]?.limits.concurrency ?? 1, load)
  if (problem) return { kind: 'refused', failure: problem, readings: limiter.read(load.subjects) }
  const reserved = place.reserve(load.subjects, load.tokens)
  if (!reserved.ok) return overLimit(reserved.error, caller)
  const drain = drains.open(account, load, hangUp)
  place.with(() => drain.end())
  return { kind: 'taken', drain }
}

function overLimit(refusal: LimitRefusal, caller: Caller): RefusedOutcome {
  return { kind: 'refused', failure: limitFailure(refusal, caller), readings: refusal.readings }
}

/**
 * Decides about a call under its `Idempotency-Key`, before any money is held; null for a caller without an account. A stream counts
 * as a write: it is charged for what was sent even if the process dies, so its key is reserved before it begins.
 */
async function keyUseOf(
  idempotency: Idempotency,
  { authenticated: { caller, incoming }, options, hangUp }: PaidCall,
  { operation, effect, streams, fingerprint }: Pick<Work, 'operation' | 'effect' | 'streams' | 'fingerprint'>,
): Promise<Result<KeyUse | null, Failure>> {
  if (options.idempotencyKey === null || caller.kind === 'anonymous') return ok(null)
  const use = await idempotency.use({
    account: caller.account.id,
    operation,
    key: options.idempotencyKey,
    fingerprint: fingerprint(),
    requestId: incoming.id,
    effect: streams ? 'write' : effect,
  })
  // A caller who hung up while it waited for the first one has begun nothing.
  if (!use.ok || use.value.kind === 'repeat' || !hangUp.aborted) return use
  await use.value.first.end('nothing')
  return err(HUNG_UP)
}
