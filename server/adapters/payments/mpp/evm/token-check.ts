import { type Address, domainSeparator } from 'viem'
import { getChainId, readContract } from 'viem/actions'
import { isNodeTrouble } from '../chain/node-trouble'
import { EIP3009_ABI } from './eip3009'
import { type ChainOptions, chainClient } from './evm-chain'

const NO_NONCE = `0x${'00'.repeat(32)}` as const

interface TokenOptions extends ChainOptions {
  readonly token: string
  readonly tokenName: string
  readonly tokenVersion: string
  readonly decimals: number
}

/**
 * Checks these settings against the chain and returns the problem: another chain, no such token, or a signing domain with another
 * name or version, for which no payment would be valid. Null if there is none, or if the node does not answer: payments wait for it.
 */
export async function tokenProblem(options: TokenOptions): Promise<string | null> {
  const { chainId, tokenName: name, tokenVersion: version } = options
  const token = options.token as Address // the configuration validated its form
  const client = chainClient(options)
  try {
    const answered = await getChainId(client)
    if (answered !== chainId) return `the node of PAYMENTS_EVM_RPC_URL serves chain ${answered}, not ${chainId}`
    const contract = { address: token, abi: EIP3009_ABI } as const
    await readContract(client, { ...contract, functionName: 'authorizationState', args: [token, NO_NONCE] })
    const ours = domainSeparator({ domain: { name, version, chainId, verifyingContract: token } })
    // Nearly all of these tokens expose it.
    const its = await readContract(client, { ...contract, functionName: 'DOMAIN_SEPARATOR' }).catch(() => ours)
    if (its !== ours) return `the token does not sign as "${name}", version "${version}"`
    const decimals = await readContract(client, { ...contract, functionName: 'decimals' })
    return decimals === options.decimals ? null : `the token has ${decimals} decimals, not ${options.decimals}`
  } catch (error) {
    return isNodeTrouble(error) ? null : 'PAYMENTS_EVM_TOKEN is not an EIP-3009 token on that chain'
  }
}
