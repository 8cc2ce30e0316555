import { type Address, createClient, domainSeparator, type Hex, http, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { getBlock, getChainId, readContract } from 'viem/actions'
import type { UpstreamPayment } from '../../core/apis/payments/upstream-payment'
import {
  plainChain,
  REORG_SECONDS,
  RPC_TIMEOUT_MS,
  type TokenPayments,
  tokenBalance,
  tokenMismatch,
  type WalletTokenSettings,
} from './chain'

const ABI = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
])
const AUTHORIZATION = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

type Settings = Extract<WalletTokenSettings, { kind: 'eip3009' }>

/** Payments by authorizations of a token (EIP-3009), which their payee submits to the chain. */
export function openAuthorizations(
  account: PrivateKeyAccount,
  settings: Settings,
): TokenPayments & { sign(payment: UpstreamPayment): Promise<string> } {
  const { chainId, rpcUrl, name, version } = settings
  const client = createClient({
    chain: plainChain(chainId, rpcUrl),
    transport: http(rpcUrl, { timeout: RPC_TIMEOUT_MS, retryCount: 0 }),
  })
  // The configuration checked its form.
  const token = settings.address as Address
  const domain = { name, version, chainId, verifyingContract: token }
  return {
    async mismatch() {
      const problem = await tokenMismatch(client, settings)
      if (problem !== null) return problem
      const ours = domainSeparator({ domain })
      // Nearly all of these tokens expose it.
      const its = await readContract(client, { address: token, abi: ABI, functionName: 'DOMAIN_SEPARATOR' }).catch(
        () => ours,
      )
      return its === ours ? null : `the token does not sign as "${name}", version "${version}"`
    },
    balance: () => tokenBalance(client, token, account.address),
    sign: ({ payee, amount, validBefore, nonce }) =>
      account.signTypedData({
        domain,
        primaryType: 'TransferWithAuthorization',
        types: { TransferWithAuthorization: AUTHORIZATION },
        message: {
          from: account.address,
          to: payee as Address,
          value: amount,
          nonce: nonce as Hex,
          validAfter: 0n,
          validBefore: BigInt(validBefore),
        },
      }),
    async wasCashed({ payer, nonce, validBefore }) {
      const [answered, { number, timestamp }] = await Promise.all([getChainId(client), getBlock(client)])
      // A node that switched to another chain knows nothing of ours.
      if (answered !== chainId || timestamp <= BigInt(validBefore + REORG_SECONDS)) return null
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
