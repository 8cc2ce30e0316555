import { join } from 'node:path'
import type { SandboxChain } from '../../adapters/payments/sandbox-chain/sandbox-chain'
import type { Config } from '../../config'
import type { PaymentSettings, TempoSettings } from '../../config/payments/payments'
import type { Clock } from '../../core/clock'
import type { PaymentMethod } from '../../core/payments/method'
import { PUBLISHED_ACCOUNTS } from '../../core/payments/published-accounts'
import { reasonOf } from '../../core/result'
import type { Log } from '../../log'

interface NetworkParts {
  readonly clock: Clock
  readonly log: Log
}

interface OpenedTempo {
  readonly methods: readonly PaymentMethod[]
  /** Null if it is not available. */
  readonly settings: TempoSettings | null
  /** To be stopped in the end. */
  readonly chain: SandboxChain | null
}

const NO_TEMPO: OpenedTempo = { methods: [], settings: null, chain: null }

/** Opens all networks that are configured. If one cannot be opened, the others still work, and the log says why. Never rejects. */
export async function openNetworks(config: Config, parts: NetworkParts) {
  const usable = <T>(method: string, opening: Promise<T>, without: T): Promise<T> =>
    opening.catch((error: unknown) => {
      parts.log.warn('a payment method is not available', { method, reason: reasonOf(error) })
      return without
    })
  const [tempo, evm] = await Promise.all([
    usable('tempo', openTempo(config, parts), NO_TEMPO),
    usable('evm', openEvm(config, parts), []),
  ])
  return { ...tempo, methods: [...tempo.methods, ...evm] }
}

async function openTempo(config: Config, parts: NetworkParts): Promise<OpenedTempo> {
  const { rail } = config.payments
  if (rail === 'off') return NO_TEMPO
  const chain = rail === 'sandbox' ? await openSandbox(config) : null
  try {
    const settings = chain ? await sandboxSettings(chain) : (rail as TempoSettings)
    return { methods: [await openTempoMethod(settings, config.payments, parts, chain)], settings, chain }
  } catch (error) {
    await chain?.stop()
    throw error
  }
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

async function openTempoMethod(
  network: TempoSettings,
  { secret, realm }: PaymentSettings,
  { clock, log }: Pick<NetworkParts, 'clock' | 'log'>,
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

/** Payments on an EVM chain: for fixed prices, and for those that follow from the answer. */
async function openEvm({ payments, baseUrl }: Config, { clock, log }: NetworkParts): Promise<readonly PaymentMethod[]> {
  const { evm, secret, realm } = payments
  if (!evm) return []
  const [{ evmMethod }, { evmNetwork }, { uptoMethod }, { tokenProblem }, { trustedFetch }] = await Promise.all([
    import('../../adapters/payments/mpp/evm/evm'),
    import('../../adapters/payments/mpp/evm/evm-network'),
    import('../../adapters/payments/mpp/upto/upto'),
    import('../../adapters/payments/mpp/evm/token-check'),
    import('../../adapters/outbound/one-hop'),
  ])
  const problem = await tokenProblem(evm)
  if (problem) throw new Error(problem)
  // The gateway cannot detect this: another gateway with the same recipient would accept the same signed payments.
  log.warn('payments by evm are open: no other gateway may use their recipient and relayer', {
    recipient: evm.recipient,
  })
  const onTrouble = (what: string, reason: string) => log.error(what, { reason })
  const facilitator = evm.facilitator && { ...evm.facilitator, fetch: trustedFetch }
  const network = evmNetwork({ ...evm, now: () => clock.now(), onTrouble, facilitator })
  const options = { ...evm, secret, realm, origin: baseUrl, now: () => clock.now(), onTrouble, facilitator }
  const { relayed } = network
  const method = evmMethod(options, network)
  return relayed ? [method, uptoMethod(options, { ...network, relayed })] : [method]
}
