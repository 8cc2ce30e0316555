import { createClient, type Hex, http } from 'viem'
import { getCode } from 'viem/actions'
import { PERMIT2, UPTO_PROXY } from '../../../server/adapters/payments/mpp/upto/permit2'
import { sandboxChainProgram, startSandboxChain } from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { UPTO_PROXY_CODE } from './upto-proxy'

let permit2: Promise<Hex> | null = null

/** The real Permit2, which the chain program has on its own network. */
function permit2Code(): Promise<Hex> {
  permit2 ??= read()
  return permit2
}

async function read(): Promise<Hex> {
  const program = sandboxChainProgram()
  if (!program) throw new Error('there is no chain program for this machine')
  const chain = await startSandboxChain(program, { stateFile: null })
  try {
    const client = createClient({ transport: http(chain.rpcUrl) })
    const code = await getCode(client, { address: PERMIT2 })
    if (!code) throw new Error('the chain program has no Permit2 any more')
    return code
  } finally {
    await chain.stop()
  }
}

/** Puts Permit2 and the contract of `upto` on a chain, at the addresses that they have on all. */
export async function placeUptoContracts(ask: (method: string, params: readonly unknown[]) => Promise<unknown>) {
  await ask('anvil_setCode', [PERMIT2, await permit2Code()])
  await ask('anvil_setCode', [UPTO_PROXY, UPTO_PROXY_CODE])
}
