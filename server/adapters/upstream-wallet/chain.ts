import { type Address, type Chain, type Client, erc20Abi } from 'viem'
import { getChainId, readContract } from 'viem/actions'
import type { UpstreamPayment, WalletToken } from '../../core/apis/payments/upstream-payment'

/** A token of the wallet, with the node of its chain. */
export type WalletTokenSettings = WalletToken & { readonly rpcUrl: string } & (
    | {
        /** Payments are authorizations that their payee submits (EIP-3009), with the name and version of the token's signing domain. */
        readonly kind: 'eip3009'
        readonly name: string
        readonly version: string
      }
    /** Payments are transfers on Tempo that their payee sends. */
    | { readonly kind: 'tempo' }
  )

/** The operations of a kind of token. */
export interface TokenPayments {
  /** Why the chain or the token is not what the settings say, or null. Throws when the node does not answer. */
  mismatch(): Promise<string | null>
  balance(): Promise<bigint>
  /** Null: not certain yet. */
  wasCashed(payment: UpstreamPayment): Promise<boolean | null>
}

/** Longer than any answer of a node that is well. */
export const RPC_TIMEOUT_MS = 5000
/** A block so much younger than the end of a payment shows its fate, also after a reorganization. */
export const REORG_SECONDS = 30

/** Why a token is not what the settings say: wrong decimals would sign for a million times the amount. Null if it is. */
export async function tokenMismatch(
  client: Client,
  { chainId, address, decimals }: WalletToken,
): Promise<string | null> {
  const answered = await getChainId(client)
  if (answered !== chainId) return `its node serves chain ${answered}, not ${chainId}`
  const has = await readContract(client, { address: address as Address, abi: erc20Abi, functionName: 'decimals' })
  return has === decimals ? null : `the token has ${has} decimals, not ${decimals}`
}

/** The balance of an account in a token. */
export function tokenBalance(client: Client, address: string, account: Address): Promise<bigint> {
  const token = address as Address // the configuration checked its form
  return readContract(client, { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [account] })
}

/** How a chain that only its id is known of is described. */
export function plainChain(chainId: number, rpcUrl: string): Chain {
  return {
    id: chainId,
    name: `eip155:${chainId}`,
    nativeCurrency: { name: 'native', symbol: 'native', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  }
}
