import { existsSync } from 'node:fs'
import { createServer } from 'node:net'

/** viem's tempoLocalnet: the payment library's own client knows this id, and not anvil's. */
export const SANDBOX_CHAIN_ID = 1337
/** pathUSD; every published test account holds more of it than anyone can spend. */
export const SANDBOX_TOKEN = '0x20c0000000000000000000000000000000000000'
/** The chain allows transfers that end within 30 s. Clients that sign for longer stop where the challenge ends. */
export const SANDBOX_CHALLENGE_MS = 25_000

export interface SandboxChain {
  readonly rpcUrl: string
  /**
   * Makes a block when the newest one is old. An idle chain's newest block is long ago, and the chain checks a transfer's lifetime (30 s
   * at most) against that time.
   */
  freshen(): Promise<void>
  /** Stops the chain after writing its state to disk. */
  stop(): Promise<void>
}

export interface SandboxChainOptions {
  /** Where the chain stores its state between runs; null to discard it. */
  readonly stateFile: string | null
  /** `tempo`, or a plain chain for tokens with EIP-3009. */
  readonly network?: 'tempo' | 'ethereum'
  readonly chainId?: number
  /** The block interval, even without transactions: for tests, whose chains are short-lived. */
  readonly blockSeconds?: number
}

const START_MS = 10_000
const ASK_AGAIN_MS = 10
const FRESH_MS = 2000

/** The chain's executable for this machine, from an optional package; null when it is not installed. */
export function sandboxChainProgram(): string | null {
  const processor = process.arch === 'x64' ? 'amd64' : process.arch
  const system = process.platform === 'win32' ? 'win32' : process.platform
  const name = `@foundry-rs/anvil-${system}-${processor}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`
  try {
    const path = Bun.resolveSync(name, import.meta.dir)
    return existsSync(path) ? path : null
  } catch {
    return null
  }
}

/**
 * A local chain on loopback, for development and tests: real transactions with worthless money. Throws when
 * it does not start.
 */
export async function startSandboxChain(program: string, options: SandboxChainOptions): Promise<SandboxChain> {
  const { network = 'tempo', chainId = SANDBOX_CHAIN_ID, stateFile, blockSeconds } = options
  const port = await freeLoopbackPort()
  const kind = network === 'tempo' ? ['--network', 'tempo', '--hardfork', 'T4'] : []
  const flags = ['--chain-id', String(chainId), '--host', '127.0.0.1', '--port', String(port), '--silent']
  const pace = blockSeconds === undefined ? [] : ['--mixed-mining', '--block-time', String(blockSeconds)]
  const state = ['--prune-history', '256', ...(stateFile === null ? [] : ['--state', stateFile])]
  // The shell waits for the end of its input, which closes when this process dies in any way, so no chain outlives its gateway.
  const script = '"$@" </dev/null & chain=$!; read -r _; kill -INT $chain; wait $chain'
  const child = Bun.spawn(['/bin/sh', '-c', script, 'sandbox-chain', program, ...kind, ...flags, ...pace, ...state], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const rpcUrl = `http://127.0.0.1:${port}`
  const stop = async () => {
    await child.stdin.end()
    await child.exited
  }
  let mined = 0
  const mine = async () => {
    mined = performance.now()
    await ask(rpcUrl, 'anvil_mine', ['0x1'])
  }
  const freshen = async () => {
    if (performance.now() - mined > FRESH_MS) await mine()
  }
  try {
    await waitForNode(rpcUrl)
    // Otherwise its first block is from 1970, and every transfer counts as expired.
    await mine()
  } catch (error) {
    await stop()
    throw error
  }
  return { rpcUrl, freshen, stop }
}

async function waitForNode(rpcUrl: string): Promise<void> {
  const until = performance.now() + START_MS
  for (;;) {
    try {
      return void (await ask(rpcUrl, 'eth_chainId', []))
    } catch (error) {
      if (performance.now() > until) throw error
      await Bun.sleep(ASK_AGAIN_MS)
    }
  }
}

async function ask(rpcUrl: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

function freeLoopbackPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port'))))
    })
  })
}
