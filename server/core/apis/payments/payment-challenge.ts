import { type Money, micros, ZERO } from '../../money'
import { err, ok, type Result } from '../../result'
import type { AskedPayment, WalletToken } from './upstream-payment'

/** No more offers of one 402 are read. */
const MAX_OFFERS = 20
/** A payment is never valid for longer, whatever its challenge says. */
const MAX_LIFE_SECONDS = 86_400

/**
 * The network fee of a transfer on Tempo, which the wallet pays. The chain decides it after the signature; it takes less than this. Without it,
 * the smallest payments would cost a hundred times what the daily maxima allow.
 */
const TEMPO_FEE: Money = micros(2000)

/** A payment that an upstream asks for, and that the operator allows. */
export interface PaymentOffer {
  readonly asked: AskedPayment
  readonly token: WalletToken
  /** Lower case. */
  readonly payee: string
  readonly amount: bigint
  readonly cost: Money
  /** The network fee that the wallet pays besides. */
  readonly fee: Money
  readonly lifeSeconds: number
}

export interface AllowedPayment {
  readonly tokens: readonly WalletToken[]
  readonly payees: readonly string[]
  /** The URL that is paid for. */
  readonly url: string
  readonly maximum: Money
  /** The caller's price for an upstream cost. */
  readonly priceOf: (cost: Money) => Money
}

/** The first offer that the operator allows and that the hold pays for, or why there is none. */
export function chooseOffer(asked: readonly AskedPayment[], allowed: AllowedPayment): Result<PaymentOffer, string> {
  const reasons = new Set<string>()
  for (const one of asked.slice(0, MAX_OFFERS)) {
    const offer = validatedOffer(one, allowed)
    if (offer.ok) return offer
    reasons.add(offer.error)
  }
  return err(
    reasons.size === 0
      ? 'its 402 has no x402 or MPP challenge'
      : `no offer of its 402 is allowed: ${[...reasons].join(', ')}`,
  )
}

function validatedOffer(
  asked: AskedPayment,
  { tokens, payees, url, maximum, priceOf }: AllowedPayment,
): Result<PaymentOffer, string> {
  if (asked.problem !== null) return err(asked.problem)
  const onChain = tokens.filter(({ chainId }) => chainId === asked.chainId)
  if (onChain.length === 0) return err('another chain')
  const address = addressOf(asked.token)
  const token = onChain.find((one) => one.address === address && one.kind === asked.kind)
  if (!token) return err('another token')
  const payee = addressOf(asked.payee)
  if (payee === null || !payees.some((one) => one.toLowerCase() === payee)) return err('another payee')
  if (!asked.isFor(new URL(url))) return err('another resource')
  if (typeof asked.amount !== 'string' || !/^[1-9]\d{0,29}$/.test(asked.amount)) return err('no amount')
  if (typeof asked.lifeSeconds !== 'number' || !(asked.lifeSeconds >= 1)) return err('no time left to pay it')
  const amount = BigInt(asked.amount)
  const cost = costOf(amount, token.decimals)
  // Both count: an account may have a price below the cost, but no more is ever signed than was held.
  if (cost === null || cost > maximum || priceOf(cost) > maximum) return err('more than the hold of the call')
  const lifeSeconds = Math.floor(Math.min(asked.lifeSeconds, MAX_LIFE_SECONDS))
  const fee = token.kind === 'tempo' ? TEMPO_FEE : ZERO
  return ok({ asked, token, payee, amount, cost, fee, lifeSeconds })
}

/** In micro-USD, rounded up. Null: beyond any price. */
function costOf(amount: bigint, decimals: number): Money | null {
  const unit = 10n ** BigInt(decimals - 6)
  const cost = (amount + unit - 1n) / unit
  return cost > BigInt(Number.MAX_SAFE_INTEGER) ? null : micros(Number(cost))
}

function addressOf(value: unknown): string | null {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : null
}
