import { type Challenge, Credential } from 'mppx'
import { tempo } from 'mppx/client'
import {
  type Address,
  type Client,
  createClient,
  type Hex,
  http,
  numberToHex,
  pad,
  toEventSelector,
  toFunctionSelector,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { getBlock, getChainId } from 'viem/actions'
import { tempoLocalnet } from 'viem/chains'
import { Transaction } from 'viem/tempo'
import type { UpstreamPayment } from '../../core/apis/payments/upstream-payment'
import {
  REORG_SECONDS,
  RPC_TIMEOUT_MS,
  type TokenPayments,
  tokenBalance,
  tokenMismatch,
  type WalletTokenSettings,
} from './chain'

/** The call that a payment is: `to`, `value`, `memo`. */
const TRANSFER_CALL = toFunctionSelector('transferWithMemo(address,uint256,bytes32)')
const TRANSFER = toEventSelector('TransferWithMemo(address,address,uint256,bytes32)')
/** Nodes refuse log queries over too many blocks. */
const BLOCKS_PER_QUESTION = 1000n
/** The network fee comes out of the wallet too and is in no price: at most 0.05 USD, in 10^-18. Libraries allow for 20 times what is used. */
const MAX_FEE = 5n * 10n ** 16n

/** Payments by signed transfers on Tempo, which their payee sends. The chain knows each by its memo, which its challenge decides. */
export function openTempoTransfers(account: PrivateKeyAccount, settings: WalletTokenSettings) {
  const { chainId, rpcUrl, address } = settings
  const chain = { ...tempoLocalnet, id: chainId, rpcUrls: { default: { http: [rpcUrl] } } }
  const client = createClient({ chain, transport: http(rpcUrl, { timeout: RPC_TIMEOUT_MS, retryCount: 0 }) })
  const charge = tempo.charge({ account, getClient: () => client, mode: 'pull', expectedChainId: chainId })
  return {
    mismatch: () => tokenMismatch(client, settings),
    balance: () => tokenBalance(client, address, account.address),
    /** Signs the transfer of a payment. The library writes it, so it is read again: only what was written down may be signed for. */
    async credential(challenge: Challenge.Challenge, payment: UpstreamPayment): Promise<string> {
      const credential = await charge.createCredential({
        challenge: challenge as Parameters<typeof charge.createCredential>[0]['challenge'], // its members were validated
        context: {},
      })
      const problem = transferProblem(credential, payment)
      if (problem !== null) throw new Error(`the signed transfer is not the payment: ${problem}`)
      return credential
    },
    async wasCashed(payment: UpstreamPayment): Promise<boolean | null> {
      const [answered, latest] = await Promise.all([getChainId(client), getBlock(client)])
      // A node that switched to another chain knows nothing of ours.
      if (answered !== chainId || latest.timestamp <= BigInt(payment.validBefore + REORG_SECONDS)) return null
      return wasMined(client, payment, latest)
    },
  } satisfies TokenPayments & { readonly credential: unknown }
}

function transferProblem(
  credential: string,
  { chainId, token, payee, amount, nonce, validBefore }: UpstreamPayment,
): string | null {
  const raw: unknown = Reflect.get(Object(Credential.deserialize(credential).payload), 'signature')
  const transaction = Transaction.deserialize(String(raw) as Transaction.TransactionSerializedTempo)
  const [call, ...more] = transaction.calls ?? []
  if (!call || more.length > 0) return 'it has other calls'
  const argument = (hex: Hex) => pad(hex).slice(2)
  const data = [TRANSFER_CALL, argument(payee as Hex), argument(numberToHex(amount)), argument(nonce as Hex)].join('')
  if (transaction.chainId !== chainId) return 'it is for another chain'
  if (call.to?.toLowerCase() !== token) return 'it is of another token'
  if ((call.value ?? 0n) !== 0n || call.data?.toLowerCase() !== data) return 'it moves something else'
  if (!transaction.validBefore || Number(transaction.validBefore) > validBefore) return 'it is valid for too long'
  const fee = (transaction.gas ?? 0n) * (transaction.maxFeePerGas ?? 0n)
  return fee > MAX_FEE ? 'its network fee may be above 0.05 USD' : null
}

/** Whether a block from before it was signed until it expired has its transfer. */
async function wasMined(
  client: Client,
  { token, payer, payee, nonce, signedAt, validBefore }: UpstreamPayment,
  latest: { readonly number: bigint },
): Promise<boolean> {
  let from = await blockBefore(client, signedAt / 1000 - REORG_SECONDS, latest.number)
  for (; from <= latest.number; from += BLOCKS_PER_QUESTION) {
    const end = from + BLOCKS_PER_QUESTION - 1n
    const to = end < latest.number ? end : latest.number
    const logs = await client.request({
      method: 'eth_getLogs',
      params: [
        {
          address: token as Address,
          topics: [TRANSFER, pad(payer as Hex), pad(payee as Hex), nonce as Hex],
          fromBlock: numberToHex(from),
          toBlock: numberToHex(to),
        },
      ],
    })
    if (logs.length > 0) return true
    const { timestamp } = await getBlock(client, { blockNumber: to })
    if (timestamp > BigInt(validBefore)) return false
  }
  return false
}

/** A block from before the time (s), found in increasing steps. */
async function blockBefore(client: Client, moment: number, latest: bigint): Promise<bigint> {
  for (let step = 64n; step < latest; step *= 2n) {
    const { timestamp } = await getBlock(client, { blockNumber: latest - step })
    if (Number(timestamp) < moment) return latest - step
  }
  return 0n
}
