import type { PriceStore } from '../core/catalogue/prices'
import type { Clock } from '../core/clock'
import { formatAddress } from '../core/credentials/address'
import { type Failure, failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import type { Ledger } from '../core/ledger/ledger'
import type { Limiter } from '../core/limits/limiter'
import { formatUsd, least, type Money, minus, ZERO } from '../core/money'
import type { ProviderAnswer } from '../core/providers/provider'
import { ok, type Result } from '../core/result'
import { type CallRecord, type Charged, NO_TOKENS } from '../core/usage/call-record'
import { limitFailure } from './auth/authenticate'
import { type AuthenticatedCall, countedOn, type Outcome, originOf, type PricedCall } from './call'
import { callUpstream, HUNG_UP, type Unanswered } from './call-upstream'
import type { CreditUse, Funding } from './funding/funding'
import type { Ending, FirstTurn, Idempotency } from './idempotency/idempotency'
import { firstTurn } from './idempotency/idempotent-call'

export interface PipelineDeps {
  readonly limiter: Limiter
  readonly ledger: Ledger
  readonly prices: PriceStore
  readonly clock: Clock
  /** Who pays for a call with a key, for one with a payment of its own, and for one with neither. */
  readonly funding: { readonly balance: Funding; readonly payment: Funding; readonly none: Funding }
  readonly idempotency: Idempotency
  readonly onTrouble: (provider: string, reason: string) => void
}

/**
 * The second half of a priced call, after its input was parsed: price, ticket, funds, upstream, charge (spec-answers 2).
 * Each line takes at most one thing, and what was taken is given back on every way out. A success is answered only after
 * its charge is durable; every failure releases.
 */
export async function runPaidCall<I>(deps: PipelineDeps, call: PricedCall<I>): Promise<Outcome> {
  const { authenticated, operation, quote, options } = call
  const { caller } = authenticated
  if (options.quote) return { kind: 'quoted', quote, balance: await spendable(deps, authenticated) }
  if (options.maxPrice !== null && quote.most > options.maxPrice) return tooDear(quote.most, options.maxPrice)
  const entered = operation.takesConcurrency ? await deps.limiter.enter(authenticated.subjects) : ok(null)
  if (!entered.ok)
    return { kind: 'refused', failure: limitFailure(entered.error, caller), readings: entered.error.readings }
  try {
    return await once(deps, call)
  } finally {
    await entered.value?.finish(0)
  }
}

/** Runs it, or answers it as the first time where its `Idempotency-Key` was there before, ahead of any money. */
async function once<I>(deps: PipelineDeps, call: PricedCall<I>): Promise<Outcome> {
  const { name, effect = 'read' } = call.operation
  const turn = await firstTurn(deps.idempotency, call, name, effect)
  if (!turn.ok) return { kind: 'refused', failure: turn.error }
  if (turn.value === null) return (await bought(deps, call)).outcome
  if (turn.value.kind === 'repeat') return { ...turn.value, kind: 'repeated' }
  const { first } = turn.value
  let end: Ending = 'unknown'
  try {
    const result = await bought(deps, call, first)
    end = result.end
    return result.outcome
  } finally {
    await first.end(end)
  }
}

/** A source outside that was asked is not told of a hang-up. */
const NEVER = new AbortController().signal

/**
 * Money, upstream, charge. From the moment an upstream outside is asked, a hang-up changes nothing (spec-answers 4): the call goes
 * to its end, and its success is charged or settled. `end` tells whether anything can have happened. */
async function bought<I>(
  deps: PipelineDeps,
  call: PricedCall<I>,
  first: FirstTurn | null = null,
): Promise<{ outcome: Outcome; end: Ending }> {
  const { authenticated, operation, quote, hangUp } = call
  const { caller } = authenticated
  const refused = (problem: Failure, end: Ending) => ({ outcome: { kind: 'refused' as const, failure: problem }, end })
  const use = creditUse(call.provider.onCredit)
  const reserved = await fundingOf(deps, authenticated).reserve(quote, authenticated, operation, use, call.fingerprint)
  if (!reserved.ok) return refused(reserved.error, 'nothing')
  const reservation = reserved.value
  try {
    const provider = (reservation.isCredit && call.provider.onCredit) || call.provider
    const { deadline = Number.POSITIVE_INFINITY } = reservation
    const timeoutMs = Math.max(0, Math.min(operation.timeoutMs, deadline - deps.clock.now()))
    if (hangUp.aborted) return refused(HUNG_UP, 'nothing')
    const stop = provider.isLocal ? hangUp : NEVER
    const { keptAnswer } = reservation
    const answer: Result<ProviderAnswer, Unanswered> = keptAnswer
      ? ok({ body: keptAnswer })
      : await callUpstream(provider, call.input, originOf(authenticated), {
          timeoutMs,
          stop,
          onTrouble: deps.onTrouble,
        })
    if (!answer.ok) {
      const problem = reservation.isPaid ? owed(answer.error.failure) : answer.error.failure
      return refused(problem, answer.error.didNothing ? 'nothing' : 'unknown')
    }
    if (provider.isLocal && hangUp.aborted) return refused(HUNG_UP, 'nothing')
    const charged = quote.charge(answer.value.units ?? 1)
    const end = { status: 200, code: null, charged, now: deps.clock.now() }
    const record = caller.kind !== 'anonymous' ? callRecord(authenticated, operation.name, end) : null
    const { body, ageSeconds } = answer.value
    const kept = first?.answer(body, call.headers ?? {})
    const delivery = { body, isGone: () => hangUp.aborted }
    const captured = await reservation.capture(charged.cost, record, undefined, kept, delivery)
    if (!captured.ok) return refused(captured.error, 'unknown')
    const age = ageSeconds === undefined ? {} : { ageSeconds }
    return { outcome: { kind: 'served', body, ...captured.value, ...age }, end: 'done' }
  } finally {
    await reservation.release()
  }
}

/** What a payer is told whose payment went through before there was an answer: it is good for another try. */
function owed(problem: Failure): Failure {
  const message = problem.message.replace(' You were not charged.', '')
  return {
    ...problem,
    message: `${message} Your payment went through: ask again with the same credential; do not pay again.`,
  }
}

export function creditUse(onCredit: object | null | undefined): CreditUse {
  return onCredit === undefined ? 'all' : onCredit === null ? 'nothing' : 'part'
}

function fundingOf({ funding }: PipelineDeps, { caller, incoming }: AuthenticatedCall): Funding {
  if (caller.kind !== 'anonymous') return funding.balance
  return incoming.credential.kind === 'payment' ? funding.payment : funding.none
}

/** Whose balance pays for a call of a known caller. */
export function accountOf({ caller }: Pick<AuthenticatedCall, 'caller'>): AccountId {
  if (caller.kind === 'anonymous') throw new Error('nobody known has no account')
  return caller.account.id
}

/** The row of a call of a known key or app. */
export function callRecord(
  { incoming, caller }: Pick<AuthenticatedCall, 'incoming' | 'caller'>,
  operation: string,
  end: { status: number; code: string | null; charged: Charged | null; now: number },
): CallRecord {
  if (caller.kind === 'anonymous') throw new Error('calls of nobody known are not in the log')
  return {
    id: incoming.id,
    clientRequestId: incoming.clientRequestId,
    accountId: caller.account.id,
    keyId: countedOn(caller).id,
    operation,
    counted: incoming.route.kind === 'priced',
    at: incoming.at,
    status: end.status,
    code: end.code,
    latencyMs: Math.max(0, end.now - incoming.at),
    address: formatAddress(incoming.address),
    tokens: NO_TOKENS,
    charged: end.charged,
  }
}

export function tooDear(price: Money, most: Money): Extract<Outcome, { kind: 'refused' }> {
  const message = `This request costs ${formatUsd(price)} USD, more than the ${formatUsd(most)} USD of X-Max-Price-USD.`
  return {
    kind: 'refused',
    failure: failure('estimated_price_exceeds_max_price', message, { param: 'x-max-price-usd' }),
  }
}

/** What the caller could spend now: the lower of what is left of its own limit and the account's available balance. */
export async function spendable(
  { ledger }: Pick<PipelineDeps, 'ledger'>,
  { caller }: AuthenticatedCall,
): Promise<Money | null> {
  if (caller.kind === 'anonymous') return null
  const { poolId } = countedOn(caller)
  const balance = await ledger.balance(caller.account.id)
  const pool = await ledger.pool(poolId)
  if (!balance || !pool) return null
  const windows = [pool, await ledger.budget(poolId)]
  return windows.reduce((available, window) => {
    if (!window || window.limit === null) return available
    const remaining = minus(minus(window.limit, window.spent), window.held)
    return remaining < 0 ? ZERO : least(remaining, available)
  }, balance.available)
}
