import { IMAGE_SEARCH } from '../../../server/core/catalog/image-search'
import type { Parameters as InputOf } from '../../../server/core/catalog/parameters'
import { parseAddress } from '../../../server/core/credentials/address'
import { makeId } from '../../../server/core/ids'
import { micros } from '../../../server/core/money'
import type { Claim } from '../../../server/core/payments/claim'
import type { PaymentMethod, ShownPayment } from '../../../server/core/payments/method'
import { Payments } from '../../../server/core/payments/payments'
import { ok } from '../../../server/core/result'
import { NO_TELEMETRY } from '../../../server/core/telemetry/telemetry'
import type { AuthenticatedCall, Outcome } from '../../../server/pipeline/call'
import { Drains } from '../../../server/pipeline/drains'
import { PaymentFunding } from '../../../server/pipeline/funding/payment'
import type { Idempotency } from '../../../server/pipeline/idempotency/idempotency'
import { LocalDecisions } from '../../../server/pipeline/local-decisions'
import { OpenCalls } from '../../../server/pipeline/open-calls'
import { runPaidCall } from '../../../server/pipeline/paid-call'
import { ProviderWork } from '../../../server/pipeline/provider-work'
import { CALLER_LIMITS, openHarness } from '../harness'
import { FixturePayment } from './fixture-payment'

/** The pipeline of a paid call on a payment network in memory, with a database and windows of its own. */
export async function openPaidCalls() {
  const gateway = await openHarness()
  const { core, clock } = gateway
  const network = new FixturePayment()
  let methods: readonly PaymentMethod[] = [network]
  const trouble: string[] = []
  const payments = new Payments({
    methods: async () => methods,
    secret: 'of this test',
    claims: core.stores.paymentClaims,
    clock,
    pause: async () => undefined,
    onTrouble: (what, reason) => trouble.push(`${what}: ${reason}`),
  })
  const funding = new PaymentFunding(payments, core.limiter, core.charges)
  let window = 1_000_000

  const call = async (
    shown: ShownPayment | null,
    { from = '192.0.2.1', q = 'card', hangUp = new AbortController().signal } = {},
  ): Promise<Outcome> => {
    const address = parseAddress(from)
    if (!address) throw new Error(from)
    const subjects = [{ name: `payments of ${from}`, limits: { rpm: window, tpm: 1, concurrency: 1 } }]
    if (core.limiter.countRequest(subjects)) throw new Error('the window of the address is full')
    const authenticated: AuthenticatedCall = {
      incoming: {
        id: makeId('req', clock.now()),
        clientRequestId: null,
        at: clock.now(),
        address,
        credential: shown ? { kind: 'payment', shown } : { kind: 'none' },
        request: { method: 'GET', url: IMAGE_SEARCH.path },
        route: { kind: 'priced', operation: 'image-search', scope: 'data:read', payable: true },
        budgetScope: null,
        trace: null,
      },
      caller: { kind: 'anonymous' },
      subjects,
      readings: core.limiter.read(subjects),
    }
    const input = { q } as InputOf<typeof IMAGE_SEARCH.parameters> // the fixture does not read it
    const deps = {
      ...core,
      clock,
      onTrouble: () => undefined,
      onOverrun: () => undefined,
      telemetry: NO_TELEMETRY,
      decisions: new LocalDecisions({ ...CALLER_LIMITS, ...core, clock, drains: new Drains() }),
      openCalls: new OpenCalls(),
      idempotency: {} as unknown as Idempotency, // no account, no idempotency
      funding,
    }
    const work = new ProviderWork(deps, {
      operation: IMAGE_SEARCH,
      provider: gateway.images,
      input,
      headers: {},
      account: null,
      request: { method: 'GET', path: IMAGE_SEARCH.path, url: new URL(IMAGE_SEARCH.path, 'http://localhost') },
    })
    const options = { maxPrice: null, quote: false, idempotencyKey: null, budgetScope: null }
    return runPaidCall(deps, { authenticated, options, hangUp }, () => ok(work))
  }
  return {
    gateway,
    network,
    payments,
    trouble,
    call,
    setWindow: (rpm: number) => {
      window = rpm
    },
    switchOff: () => {
      methods = []
    },
    /** A credential for a call, as a payer makes it from the 402. */
    async bought(more: Parameters<FixturePayment['pay']>[0] = {}, q = 'card'): Promise<ShownPayment> {
      await call(null, { q })
      return network.pay(more)
    },
    claimOf: (shown: ShownPayment): Promise<Claim | null> => payments.claimOf(shown),
    /** How often an upstream was asked. */
    asked: () => gateway.images.asked.length,
    price: micros(5000),
  }
}

/** The outcome of a call, in one line; `+challenge`: it invites to pay. */
export function verdict(outcome: Outcome): string {
  if (outcome.kind !== 'refused') return outcome.kind
  return `${outcome.failure.code}${outcome.failure.offers ? ' +challenge' : ''}`
}
