import { join } from 'node:path'
import type { SandboxChain } from '../../adapters/payments/sandbox-chain/sandbox-chain'
import type { Config } from '../../config'
import type { PaymentSettings, TempoSettings } from '../../config/payments/payments'
import type { CardTopUps } from '../../core/accounts/cards/card-top-ups'
import type { TopUps } from '../../core/accounts/top-ups'
import type { Clock } from '../../core/clock'
import type { ClaimStore } from '../../core/payments/claim'
import type { PaymentMethod } from '../../core/payments/method'
import { Payments } from '../../core/payments/payments'
import { PUBLISHED_ACCOUNTS } from '../../core/payments/published-accounts'
import { reasonOf } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { startClaimFinishing } from '../../jobs/claim-finishing'
import type { Job } from '../../jobs/job'
import type { Log } from '../../log'

/** Where this gateway's relayer is. */
export interface Relay {
  /** Asks the relayer of `main`, in the gateway of any other cell. */
  readonly askMain: ((body: string, signal: AbortSignal) => Promise<Response>) | undefined
  /** Whether this process may send from the relayer's account; undefined for one that is alone. */
  readonly maySend: (() => boolean) | undefined
}

interface Parts {
  readonly claims: ClaimStore
  readonly clock: Clock
  readonly log: Log
  readonly topUps: TopUps
  /** Null if no card processor is configured. */
  readonly cards: CardTopUps | null
  readonly telemetry: Telemetry
  readonly relay: Relay
  /** See `PaymentsOptions`. */
  readonly brakeShareOf: (max: number) => number
}

/** No offer can be made, because the gateway was closed before its networks were open. */
class PaymentsClosed extends Error {
  /** Read by core/unavailable.ts. */
  readonly unavailable = true
}

/** Answers what another cell's gateway asks of the relayer here. */
type AnswerRelay = (asked: unknown) => Promise<object>

/**
 * Per-request payments. `open` loads their libraries and opens their networks after the server listens; until then, requests for
 * offers wait. If no network is usable there are no offers, and the log says why.
 */
export function composePayments(
  config: Config,
  { claims, clock, log, topUps, cards, telemetry, relay, brakeShareOf }: Parts,
) {
  const { rail } = config.payments
  const opened = Promise.withResolvers<readonly PaymentMethod[]>()
  opened.promise.catch(() => undefined)
  let answerRelay: AnswerRelay | null = null
  let settings: TempoSettings | null = null
  let opening: Promise<void> | null = null
  let chain: SandboxChain | null = null
  let finishing: Job | null = null
  let isClosed = false
  const payments = new Payments({
    methods: () => opened.promise,
    secret: config.payments.secret,
    ...{ claims, clock, shareOf: brakeShareOf },
    elsewhere: async (claim) => (claim.method === 'card' && cards ? cards.fateOf(claim) : { kind: 'open' }),
    pause: (ms) => Bun.sleep(ms),
    onTrouble: (what, reason) => log.warn(what, { reason }),
    onStep: (step) => telemetry.payment(step),
  })
  if (rail === 'off' && !config.payments.evm) opened.resolve([])
  const tempo = async (): Promise<readonly PaymentMethod[]> => {
    if (rail === 'sandbox') chain = await openSandbox(config)
    settings =
      rail === 'off' ? null : rail === 'sandbox' && chain ? await sandboxSettings(chain) : (rail as TempoSettings)
    return settings ? [await openTempo(settings, config.payments, { clock, log }, chain)] : []
  }
  /** If one payment method cannot be opened, the other still works. */
  const usable = (name: string, opened: Promise<readonly PaymentMethod[]>): Promise<readonly PaymentMethod[]> =>
    opened.catch((error: unknown) => {
      const reason = reasonOf(error)
      log.warn('a payment method is not available', { method: name, reason })
      return []
    })
  const evm = async () => {
    const { methods, answer } = await openEvm(config, { clock, log, relay })
    answerRelay = answer
    return methods
  }
  const start = async (): Promise<void> => {
    const methods = await Promise.all([usable('tempo', tempo()), usable('evm', evm())])
    opened.resolve(methods.flat())
    finishing = startClaimFinishing({ payments, topUps, claims, clock, log })
    await finishing.run()
  }
  const open = (): Promise<void> => {
    opening ??= isClosed ? Promise.resolve() : start()
    return opening
  }
  return {
    payments,
    /** What decides which directories list this gateway. */
    published: async () => {
      const methods = (await opened.promise).map(({ name }) => name)
      const { evm } = config.payments
      const facilitator = evm?.facilitator ? new URL(evm.facilitator.url).host : null
      return { origin: config.baseUrl, methods, isSandbox: rail === 'sandbox', facilitator }
    },
    /** The methods with a persistent network. The sandbox chain may forget its worthless payments. */
    lasting: async () => (await opened.promise).filter(({ name }) => rail !== 'sandbox' || name !== 'tempo'),
    /** What the relayer has left to pay for gas, in whole coins of its chain; null without one, or before it was read. */
    fuel: async () => fuelOf(await Promise.race([opened.promise, []])),
    /** Answers what another cell's gateway asks of the relayer here. */
    async relay(asked: unknown): Promise<object> {
      await opened.promise
      return answerRelay?.(asked) ?? { kind: 'failed', reason: 'the relayer is not available', isSent: false }
    },
    /** Opens the networks, unless the gateway is closed. Idempotent. Never rejects. */
    open,
    /** What a wallet on this machine needs to pay; null if payments are not available. */
    async network() {
      await open()
      return settings && { ...settings, sandbox: rail === 'sandbox' }
    },
    async close() {
      isClosed = true
      await opening
      opened.reject(new PaymentsClosed('the gateway is closed'))
      // A slow network must not delay shutdown. What the run did not finish is done after the next start.
      void finishing?.close()
      await chain?.stop()
    },
  }
}

/** The fuel of the one method that has a relayer. */
function fuelOf(methods: readonly PaymentMethod[]): number | null {
  return methods.find((method) => method.fuel)?.fuel?.() ?? null
}

async function openSandbox(config: Config): Promise<SandboxChain> {
  const { sandboxChainProgram, startSandboxChain } = await import('../../adapters/payments/sandbox-chain/sandbox-chain')
  const program = sandboxChainProgram()
  if (!program)
    throw new Error('the sandbox chain is not available on this machine (optional package @foundry-rs/anvil)')
  return startSandboxChain(program, { stateFile: join(config.dataDir, 'sandbox-chain.json') })
}

async function sandboxSettings({ rpcUrl }: SandboxChain): Promise<TempoSettings> {
  const { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } = await import('../../adapters/payments/sandbox-chain/sandbox-chain')
  const recipient = PUBLISHED_ACCOUNTS[1].address
  const pace = { confirmations: 1, maxBlockAgeMs: null }
  return { rpcUrl, chainId: SANDBOX_CHAIN_ID, token: SANDBOX_TOKEN, decimals: 6, recipient, ...pace }
}

async function openTempo(
  network: TempoSettings,
  { secret, realm }: PaymentSettings,
  { clock, log }: Pick<Parts, 'clock' | 'log'>,
  chain: SandboxChain | null,
) {
  const [{ tempoMethod }, { SANDBOX_CHALLENGE_MS }] = await Promise.all([
    import('../../adapters/payments/mpp/tempo'),
    import('../../adapters/payments/sandbox-chain/sandbox-chain'),
  ])
  const sandbox = chain ? { freshen: () => chain.freshen(), challengeLifeMs: SANDBOX_CHALLENGE_MS } : {}
  const onTrouble = (what: string, reason: string) => log.error(what, { reason })
  return tempoMethod({ ...network, secret, realm, now: () => clock.now(), onTrouble, ...sandbox })
}

interface OpenedEvm {
  readonly methods: readonly PaymentMethod[]
  /** Null where no other gateway may ask. */
  readonly answer: AnswerRelay | null
}

/** Payments on an EVM chain: for fixed prices, and for those that follow from the answer. */
async function openEvm(
  { payments, baseUrl }: Config,
  { clock, log, relay: { askMain, maySend } }: Pick<Parts, 'clock' | 'log' | 'relay'>,
): Promise<OpenedEvm> {
  const { evm, secret, realm } = payments
  if (!evm) return { methods: [], answer: null }
  const [
    { evmMethod },
    { evmNetwork },
    { uptoMethod },
    { tokenProblem },
    { trustedFetch },
    { answerOfMain },
    { UPTO_PROXY },
  ] = await Promise.all([
    import('../../adapters/payments/mpp/evm/evm'),
    import('../../adapters/payments/mpp/evm/evm-network'),
    import('../../adapters/payments/mpp/upto/upto'),
    import('../../adapters/payments/mpp/evm/token-check'),
    import('../../adapters/outbound/trusted-fetch'),
    import('../../adapters/payments/mpp/chain/relayer-of-main'),
    import('../../adapters/payments/mpp/upto/permit2'),
  ])
  const problem = await tokenProblem(evm)
  if (problem) throw new Error(problem)
  // The gateway cannot detect this: another gateway with the same recipient would accept the same signed payments.
  log.warn('payments by evm are open: no other gateway may use their recipient and relayer', {
    recipient: evm.recipient,
  })
  const onTrouble = (what: string, reason: string) => log.error(what, { reason })
  const facilitator = evm.facilitator && { ...evm.facilitator, fetch: trustedFetch }
  const network = evmNetwork({
    ...evm,
    now: () => clock.now(),
    onTrouble,
    facilitator,
    askMain,
    ...(maySend && { maySend }),
  })
  const options = { ...evm, secret, realm, origin: baseUrl, now: () => clock.now(), onTrouble, facilitator }
  const { relayed, token } = network
  if (!relayed) return { methods: [evmMethod(options, network)], answer: null }
  return {
    methods: [evmMethod(options, network), uptoMethod(options, { ...network, relayed })],
    answer: askMain ? null : (asked) => answerOfMain(relayed.relayer, [token, UPTO_PROXY], asked),
  }
}
