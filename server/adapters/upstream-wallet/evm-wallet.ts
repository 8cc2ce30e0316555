import { type Address, createClient, defineChain, type Hex, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { getBlock, readContract } from 'viem/actions'
import type { UpstreamPayment, UpstreamWallet, WalletTerms } from '../../core/apis/upstream-payment'

export interface EvmWalletOptions {
  readonly key: string
  readonly rpcUrl: string
  /** Name and version in the token's signing domain (EIP-712). */
  readonly tokenName: string
  readonly tokenVersion: string
  readonly terms: WalletTerms
}

const ABI = parseAbi(['function authorizationState(address authorizer, bytes32 nonce) view returns (bool)'])
const AUTHORIZATION = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const
/** A block so much younger than the end of a payment shows its fate, also after a reorganization. */
const REORG_SECONDS = 30
const RPC_TIMEOUT_MS = 5000

/** Pays with authorizations of a token (EIP-3009), which their payee submits to the chain. */
export function openEvmWallet({ key, rpcUrl, tokenName, tokenVersion, terms }: EvmWalletOptions): UpstreamWallet {
  // Its form was checked when the setting was read.
  const account = privateKeyToAccount(key as Hex)
  const chain = defineChain({
    id: terms.chainId,
    name: `eip155:${terms.chainId}`,
    nativeCurrency: { name: 'native', symbol: 'native', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
  const client = createClient({ chain, transport: http(rpcUrl, { timeout: RPC_TIMEOUT_MS, retryCount: 0 }) })
  const token = terms.token as Address
  return {
    terms,
    address: account.address.toLowerCase(),
    sign: ({ payee, amount, validBefore, nonce }: UpstreamPayment) =>
      account.signTypedData({
        domain: { name: tokenName, version: tokenVersion, chainId: terms.chainId, verifyingContract: token },
        primaryType: 'TransferWithAuthorization',
        types: { TransferWithAuthorization: AUTHORIZATION },
        message: {
          ...{ from: account.address, to: payee as Address, value: amount, nonce: nonce as Hex },
          ...{ validAfter: 0n, validBefore: BigInt(validBefore) },
        },
      }),
    async wasCashed({ payer, nonce, validBefore }: UpstreamPayment) {
      const { number, timestamp } = await getBlock(client)
      if (timestamp <= BigInt(validBefore + REORG_SECONDS)) return null
      return readContract(client, {
        address: token,
        abi: ABI,
        functionName: 'authorizationState',
        args: [payer as Address, nonce as Hex],
        blockNumber: number,
      })
    },
  }
}
