import { join } from 'node:path'
import type { SandboxChain } from '../adapters/payments/sandbox-chain/sandbox-chain'
import type { Config } from '../config'
import type { PaymentSettings, TempoSettings } from '../config/payments'
import type { CardTopUps } from '../core/accounts/card-top-ups'
import type { TopUps } from '../core/accounts/top-ups'
import type { Clock } from '../core/clock'
import type { ClaimStore } from '../core/payments/claim'
import type { PaymentMethod } from '../core/payments/method'
import { Payments } from '../core/payments/payments'
import { PUBLISHED_ACCOUNTS } from '../core/payments/published-accounts'
import type { Log } from '../log'

/** How often claims that nobody comes back for are looked after, and how often those that never paid are forgotten. */
const JOB_MS = 10_000
const PRUNE_MS = 60_000

interface Parts {
  readonly claims: ClaimStore
  readonly clock: Clock
  readonly log: Log
  readonly topUps: TopUps
  /** Where a card processor is configured. */
  readonly cards: CardTopUps | null
}

/**
 * Payments for one request each. Their libraries and their network are opened by `open`, after the server listens: until then
 * whoever asks for an offer waits. Without a network that can be used there are no offers, and the log says why.
 */
export function composePayments(config: Config, { claims, clock, log, topUps, cards }: Parts) {
  const { rail } = config.payments
  const opened = Promise.withResolvers<readonly PaymentMethod[]>()
  let settings: TempoSettings | null = null
  let opening: Promise<void> | null = null
  let chain: SandboxChain | null = null
  let job: ReturnType<typeof setTimeout> | null = null
  let closed = false
  const payments = new Payments({
    methods: () => opened.promise,
    secret: config.payments.secret,
    claims,
    clock,
    elsewhere: async (claim) => (claim.method === 'card' && cards ? cards.fateOf(claim) : { kind: 'open' }),
    pause: (ms) => Bun.sleep(ms),
    onTrouble: (what, reason) => log.warn(what, { reason }),
  })
  if (rail === 'off' && !config.payments.evm) opened.resolve([])
  let pruneAt = 0
  const round = async () => {
    await payments.finishOpen((claim) => topUps.creditFinal(payments, claim))
    if (clock.now() < pruneAt) return
    await claims.prune(clock.now())
    pruneAt = clock.now() + PRUNE_MS
  }
  const work = async () => {
    await round().catch((error: unknown) => log.error('payments', { reason: String(error) }))
    if (!closed) job = setTimeout(() => void work(), JOB_MS)
  }
  const tempo = async (): Promise<PaymentMethod | null> => {
    if (rail === 'sandbox') chain = await openSandbox(config)
    settings =
      rail === 'off' ? null : rail === 'sandbox' && chain ? await sandboxSettings(chain) : (rail as TempoSettings)
    return settings && openTempo(settings, config.payments, { clock, log }, chain)
  }
  /** One way to pay that cannot be opened leaves the other. */
  const usable = (name: string, method: Promise<PaymentMethod | null>): Promise<PaymentMethod | null> =>
    method.catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      log.warn('per-request payments are off', { method: name, reason })
      return null
    })
  const start = async (): Promise<void> => {
    const methods = await Promise.all([usable('tempo', tempo()), usable('evm', openEvm(config, clock, log))])
    opened.resolve(methods.filter((method) => method !== null))
    await work()
  }
  const open = (): Promise<void> => {
    opening ??= start()
    return opening
  }
  return {
    payments,
    /** Those whose networks last: what a sandbox forgets is worth nothing. */
    lasting: async () => (await opened.promise).filter(({ name }) => rail !== 'sandbox' || name !== 'tempo'),
    /** Opens the network. Free to repeat; never rejects. */
    open,
    /** What a wallet on this machine must know; null while there is no way to pay. */
    async network() {
      await open()
      return settings && { ...settings, sandbox: rail === 'sandbox' }
    },
    async close() {
      closed = true
      await opening
      if (job) clearTimeout(job)
      await chain?.stop()
    },
  }
}

async function openSandbox(config: Config): Promise<SandboxChain> {
  const { sandboxChainProgram, startSandboxChain } = await import('../adapters/payments/sandbox-chain/sandbox-chain')
  const program = sandboxChainProgram()
  if (!program)
    throw new Error('the sandbox chain has no program for this machine (optional package @foundry-rs/anvil)')
  return startSandboxChain(program, { stateFile: join(config.dataDir, 'sandbox-chain.json') })
}

async function sandboxSettings({ rpcUrl }: SandboxChain): Promise<TempoSettings> {
  const { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } = await import('../adapters/payments/sandbox-chain/sandbox-chain')
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
  const { tempoMethod } = await import('../adapters/payments/mpp/tempo')
  const freshen = chain ? { freshen: () => chain.freshen() } : {}
  const onTrouble = (what: string, reason: string) => log.error(what, { reason })
  return tempoMethod({ ...network, secret, realm, now: () => clock.now(), onTrouble, ...freshen })
}

async function openEvm({ payments, baseUrl }: Config, clock: Clock, log: Log): Promise<PaymentMethod | null> {
  const { evm, secret, realm } = payments
  if (!evm) return null
  const [{ evmMethod }, { tokenProblem }] = await Promise.all([
    import('../adapters/payments/mpp/evm'),
    import('../adapters/payments/mpp/token-check'),
  ])
  const problem = await tokenProblem(evm)
  if (problem) throw new Error(problem)
  // What cannot be seen from here: another gateway with the same recipient would take the same signed payments.
  log.warn("payments by evm are open: their recipient and their relayer must be this gateway's alone", {
    recipient: evm.recipient,
  })
  const onTrouble = (what: string, reason: string) => log.error(what, { reason })
  return evmMethod({ ...evm, secret, realm, origin: baseUrl, now: () => clock.now(), onTrouble })
}
