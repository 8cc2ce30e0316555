import type { Config } from '../../config'
import type { CardTopUps } from '../../core/accounts/cards/card-top-ups'
import type { TopUps } from '../../core/accounts/top-ups'
import type { Clock } from '../../core/clock'
import type { ClaimStore } from '../../core/payments/claim'
import type { PaymentMethod } from '../../core/payments/method'
import { Payments } from '../../core/payments/payments'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { startClaimFinishing } from '../../jobs/claim-finishing'
import type { Job } from '../../jobs/job'
import type { Log } from '../../log'
import { openNetworks } from './networks'

interface Parts {
  readonly claims: ClaimStore
  readonly clock: Clock
  readonly log: Log
  readonly topUps: TopUps
  /** Null if no card processor is configured. */
  readonly cards: CardTopUps | null
  readonly telemetry: Telemetry
}

/** No offer can be made, because the gateway was closed before its networks were open. */
class PaymentsClosed extends Error {
  /** Read by core/unavailable.ts. */
  readonly unavailable = true
}

/**
 * Per-request payments. `open` loads their libraries and opens their networks after the server listens; until then, requests for
 * offers wait. If no network is usable there are no offers, and the log says why.
 */
export function composePayments(config: Config, { claims, clock, log, topUps, cards, telemetry }: Parts) {
  const { rail } = config.payments
  const opened = Promise.withResolvers<readonly PaymentMethod[]>()
  opened.promise.catch(() => undefined)
  let opening: Promise<void> | null = null
  let networks: Awaited<ReturnType<typeof openNetworks>> | null = null
  let finishing: Job | null = null
  let isClosed = false
  const payments = new Payments({
    methods: () => opened.promise,
    secret: config.payments.secret,
    claims,
    clock,
    elsewhere: async (claim) => (claim.method === 'card' && cards ? cards.fateOf(claim) : { kind: 'open' }),
    pause: (ms) => Bun.sleep(ms),
    onTrouble: (what, reason) => log.warn(what, { reason }),
    onStep: (step) => telemetry.payment(step),
  })
  if (rail === 'off' && !config.payments.evm) opened.resolve([])
  const start = async (): Promise<void> => {
    networks = await openNetworks(config, { clock, log })
    opened.resolve(networks.methods)
    finishing = startClaimFinishing({ payments, topUps, claims, clock, log })
    await finishing.run()
  }
  const open = (): Promise<void> => {
    opening ??= isClosed ? Promise.resolve() : start()
    return opening
  }
  return {
    payments,
    /** The facts that decide which directories list this gateway. */
    published: async () => {
      const methods = (await opened.promise).map(({ name }) => name)
      const { evm } = config.payments
      const facilitator = evm?.facilitator ? new URL(evm.facilitator.url).host : null
      return { origin: config.baseUrl, methods, isSandbox: rail === 'sandbox', facilitator }
    },
    /** The methods with a persistent network. The sandbox chain may forget its worthless payments. */
    lasting: async () => (await opened.promise).filter(({ name }) => rail !== 'sandbox' || name !== 'tempo'),
    /** The relayer's coins for gas, in whole coins of its chain; null without one, or before it was read. */
    fuel: async () => fuelOf(await Promise.race([opened.promise, []])),
    /** Opens the networks, unless the gateway is closed. Idempotent. Never rejects. */
    open,
    /** The settings of a wallet on this machine; null if payments are not available. */
    async network() {
      await open()
      return networks?.settings ? { ...networks.settings, sandbox: rail === 'sandbox' } : null
    },
    async close() {
      isClosed = true
      await opening
      opened.reject(new PaymentsClosed('the gateway is closed'))
      // A slow network must not delay shutdown. An unfinished run continues after the next start.
      void finishing?.close()
      await networks?.chain?.stop()
    },
  }
}

/** The fuel of the one method that has a relayer. */
function fuelOf(methods: readonly PaymentMethod[]): number | null {
  return methods.find((method) => method.fuel)?.fuel?.() ?? null
}
