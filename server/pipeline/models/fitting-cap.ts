import type { Failure } from '../../core/failure'
import { maxTokenCost } from '../../core/models/token-price'
import { isUnitPrice, tokenPriceOf } from '../../core/models/unit-price'
import { type Money, micros, min } from '../../core/money'
import { spendable } from '../spendable'
import type { ModelDeps, ValidatedCall } from './model-call'
import { outputAt } from './wires/model-request'

/** Adds the largest affordable output cap to a refusal for lack of money. Other failures are returned unchanged. */
export async function withFittingCap(
  deps: Pick<ModelDeps, 'ledger' | 'creditBuysPaid'>,
  validated: Pick<ValidatedCall, 'call' | 'request' | 'model' | 'cap' | 'bounds'>,
  problem: Failure,
): Promise<Failure> {
  if (problem.code !== 'insufficient_balance' && problem.code !== 'insufficient_api_key_balance') return problem
  if (isUnitPrice(validated.model.price)) return problem
  const available = await spendableOn(deps, validated)
  const cap = available === null ? 0 : largestCap(validated, available)
  const hint =
    cap > 0
      ? `An output cap of at most ${cap} tokens would fit.`
      : 'The input alone costs more than what is left, so no output cap would fit.'
  return { ...problem, message: `${problem.message} ${hint}` }
}

async function spendableOn(
  deps: Pick<ModelDeps, 'ledger' | 'creditBuysPaid'>,
  { call: { authenticated }, model }: Pick<ValidatedCall, 'call' | 'model'>,
): Promise<Money | null> {
  const all = await spendable(deps.ledger, authenticated)
  if (all === null || authenticated.caller.kind === 'anonymous' || !model.rechargeRequired || deps.creditBuysPaid)
    return all
  const balance = await deps.ledger.balance(authenticated.caller.account.id)
  // Existing holds may all be on topped-up money. The cap that is named must fit even then.
  return balance && min(all, micros(Math.max(0, balance.paid - balance.held)))
}

/** The largest cap whose maximum cost is within `available`; 0 if there is none. */
function largestCap(
  { request, model, cap, bounds }: Pick<ValidatedCall, 'request' | 'model' | 'cap' | 'bounds'>,
  available: Money,
): number {
  let fits = 0
  for (let over = cap; over - fits > 1; ) {
    const tried = fits + Math.floor((over - fits) / 2)
    const maxCost = maxTokenCost(tokenPriceOf(model), {
      input: bounds.input.max,
      output: outputAt(request, tried),
      hourCache: request.hourCache ?? false,
    })
    if (maxCost <= available) fits = tried
    else over = tried
  }
  return fits
}
