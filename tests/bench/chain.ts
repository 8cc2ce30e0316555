import { sandboxChainProgram, startSandboxChain } from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { obey } from './workshop'

/** The sandbox chain, in a process of its own. It says `ready ADDRESS`. */
const program = sandboxChainProgram()
if (!program) throw new Error('the sandbox chain has no program for this machine (optional package @foundry-rs/anvil)')
const chain = await startSandboxChain(program, { stateFile: null, blockSeconds: 1 })
process.on('SIGTERM', async () => {
  await chain.stop()
  process.exit(0)
})
process.stdout.write(`ready ${chain.rpcUrl}\n`)
await obey({})
