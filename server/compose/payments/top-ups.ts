import type { Config } from '../../config'
import type { CardRefundStore } from '../../core/accounts/cards/card-refund'
import { CardRefunds } from '../../core/accounts/cards/card-refunds'
import { CardTopUps } from '../../core/accounts/cards/card-top-ups'
import { TopUps } from '../../core/accounts/top-ups'
import type { Clock } from '../../core/clock'
import type { Ledger } from '../../core/ledger/ledger'
import type { CardCheckout, UnknownCheckoutStore } from '../../core/payments/card-checkout'
import type { ClaimStore } from '../../core/payments/claim'
import type { Log } from '../../log'

interface Parts {
  readonly claims: ClaimStore
  readonly refunds: CardRefundStore
  readonly unknown: UnknownCheckoutStore
  readonly ledger: Ledger
  readonly clock: Clock
  readonly log: Log
}

/** Top-ups, by card if a processor is configured. Its library is loaded on first use. */
export function composeTopUps(config: Config, parts: Parts) {
  const { claims, refunds, unknown, ledger, clock, log } = parts
  const topUps = new TopUps({ claims, ledger, clock })
  const checkout = config.cards ? lazyCheckout(config, clock, log) : null
  const onTrouble = (what: string, reason: string) => log.error(what, { reason })
  const cards = checkout && {
    checkout,
    topUps: new CardTopUps({ card: checkout, claims, topUps, ledger, unknown, clock, onTrouble }),
    refunds: new CardRefunds({ card: checkout, claims, store: refunds, ledger, clock }),
  }
  return { topUps, cards }
}

function lazyCheckout({ cards, baseUrl }: Config, clock: Clock, log: Log): CardCheckout {
  let opened: Promise<CardCheckout> | null = null
  const open = () => {
    opened ??= import('../../adapters/payments/stripe/stripe-checkout').then(({ stripeCheckout }) => {
      if (!cards) throw new Error('no card processor is configured')
      return stripeCheckout({ ...cards, returnUrl: `${baseUrl}/billing`, now: () => clock.now() })
    })
    return opened
  }
  return {
    open: async (topUp) => (await open()).open(topUp),
    state: async (page) => (await open()).state(page),
    topUpOn: async (page) => (await open()).topUpOn(page),
    pageOf: async (payment) => (await open()).pageOf(payment),
    async *pagesBetween(from, to) {
      yield* (await open()).pagesBetween(from, to)
    },
    async *returnedBetween(from, to) {
      yield* (await open()).returnedBetween(from, to)
    },
    returns: async (payment) => (await open()).returns(payment),
    refund: async (refund) => (await open()).refund(refund),
    async message(body, signature) {
      const message = await (await open()).message(body, signature)
      if (!message)
        log.warn(
          'a message of the card processor was refused: its signature is missing or wrong (STRIPE_WEBHOOK_SECRET)',
        )
      return message
    },
  }
}
