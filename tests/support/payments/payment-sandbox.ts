import { Challenge, Credential } from 'mppx'
import { Mppx, tempo } from 'mppx/client'
import { type Address, createClient, type Hex, http } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { prepareTransactionRequest, readContract, sendRawTransactionSync, signTransaction } from 'viem/actions'
import { tempoLocalnet } from 'viem/chains'
import { Abis, Actions } from 'viem/tempo'
import {
  SANDBOX_CHAIN_ID,
  SANDBOX_TOKEN,
  sandboxChainProgram,
  startSandboxChain,
} from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { PUBLISHED_ACCOUNTS } from '../../../server/core/payments/published-accounts'
import { openFaultyNode } from './faulty-node'

export const PAYER: PrivateKeyAccount = privateKeyToAccount(PUBLISHED_ACCOUNTS[0].key)
export const MERCHANT = PUBLISHED_ACCOUNTS[1].address
const TRANSFER_LIFE_SECONDS = 25

export function stranger(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}

/** A real chain for tests, a node in front of it that fails on command, and payers. */
export async function openPaymentSandbox() {
  const program = sandboxChainProgram()
  if (!program) throw new Error('there is no chain program for this machine')
  const chain = await startSandboxChain(program, { stateFile: null, blockSeconds: 1 })
  const node = openFaultyNode(chain.rpcUrl)
  const client = createClient({ chain: tempoLocalnet, transport: http(chain.rpcUrl) })
  const send = async (from: PrivateKeyAccount, call: Call) =>
    sendRawTransactionSync(client, { serializedTransaction: await signed(client, from, call) })
  return {
    /** The chain itself, for payers. */
    chainUrl: chain.rpcUrl,
    /** The chain behind the faulty node, for the gateway. */
    nodeUrl: node.url,
    /** The settings that a gateway needs for it. */
    env: {
      PAYMENTS_RPC_URL: node.url,
      PAYMENTS_CHAIN_ID: String(SANDBOX_CHAIN_ID),
      PAYMENTS_TOKEN: SANDBOX_TOKEN,
      PAYMENTS_RECIPIENT: MERCHANT,
    },
    setFault: node.setFault,
    freezeAt: node.freezeAt,
    sayInstead: node.sayInstead,
    /** The chain itself, by any of its methods. */
    ask: (method: string, params: readonly unknown[]) =>
      client.request({ method, params } as unknown as Parameters<typeof client.request>[0]),
    /** The balance of an address, in millionths of a dollar. */
    balance(of: string): Promise<bigint> {
      const [address, args] = [SANDBOX_TOKEN as Address, [of as Address] as const]
      return readContract(client, { address, abi: Abis.tip20, functionName: 'balanceOf', args })
    },
    /** A payment client as callers have it. */
    payer(account: PrivateKeyAccount = PAYER, fetching: typeof fetch = fetch) {
      return Mppx.create({ polyfill: false, fetch: fetching, methods: [tempo({ account, getClient: () => client })] })
    },
    /** How a client of any protocol pays out of this wallet. */
    wallet: (account: PrivateKeyAccount = PAYER) => tempo({ account, getClient: () => client }),
    /** Sends money between two wallets, without the gateway. */
    transfer: (from: PrivateKeyAccount, to: string, amount: bigint) => send(from, transferOf(to, amount)),
    /** Sends nearly all that a wallet has to a stranger; fees come out of the rest. */
    async drain(from: PrivateKeyAccount, has: bigint) {
      for (let left = has; left > 4000n; left = await this.balance(from.address)) {
        const amount = left > 8000n ? left - 7000n : left - 3000n
        await send(from, transferOf(stranger().address, amount))
      }
    },
    /** Answers a challenge with a transfer that says something else than was asked. */
    async lie(header: string, change: Partial<Asked>, from: PrivateKeyAccount = PAYER): Promise<string> {
      const { encode } = await import(new URL('./tempo/Attribution.js', import.meta.resolve('mppx')).href)
      const challenge = Challenge.deserialize(header)
      const asked = { ...(challenge.request as unknown as Asked), ...change }
      const memo = encode({ challengeId: challenge.id, serverId: challenge.realm })
      const call = transferOf(asked.recipient, BigInt(asked.amount), { token: asked.currency, memo })
      const signature = await signed(client, from, call, asked)
      return Credential.serialize({ challenge, payload: { signature, type: 'transaction' } })
    },
    async close() {
      await node.close()
      await chain.stop()
    },
  }
}

interface Asked {
  readonly amount: string
  readonly currency: string
  readonly recipient: string
  readonly gas?: bigint
  readonly lifeSeconds?: number
  readonly nonce?: bigint
}
// viem's own types of Tempo's transactions hang on the chain; the fields are what its documents ask for.
type Preparing = Parameters<typeof prepareTransactionRequest>[1]
type Call = ReturnType<typeof transferOf>
type SandboxClient = ReturnType<typeof createClient<ReturnType<typeof http>, typeof tempoLocalnet>>

function transferOf(to: string, amount: bigint, more: { token?: string; memo?: Hex } = {}) {
  return Actions.token.transfer.call({} as SandboxClient, {
    amount,
    to: to as Address,
    token: (more.token ?? SANDBOX_TOKEN) as Address,
    ...(more.memo && { memo: more.memo }),
  })
}

async function signed(
  client: SandboxClient,
  account: PrivateKeyAccount,
  call: Call,
  more: Partial<Asked> = {},
): Promise<Hex> {
  const { gas, nonce, lifeSeconds = TRANSFER_LIFE_SECONDS } = more
  const request = {
    account,
    calls: [call],
    nonceKey: 'expiring',
    validBefore: Math.floor(Date.now() / 1000) + lifeSeconds,
    ...(gas !== undefined && { gas }),
    ...(nonce !== undefined && { nonce }),
  }
  const prepared = await prepareTransactionRequest(client, request as unknown as Preparing)
  return signTransaction(client, prepared as Parameters<typeof signTransaction>[1]) as Promise<Hex>
}
