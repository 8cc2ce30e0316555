import { ExactEvmScheme, uptoPermit2WitnessTypes } from '@x402/evm'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { ExactEvmSchemeV1 } from '@x402/evm/v1'
import { x402Client, x402HTTPClient } from '@x402/fetch'
import { Challenge, Credential } from 'mppx'
import { evm, Mppx } from 'mppx/client'
import {
  type Address,
  createClient,
  defineChain,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  keccak256,
  maxUint256,
  parseAbi,
  stringToHex,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { deployContract, readContract, sendTransaction, waitForTransactionReceipt, writeContract } from 'viem/actions'
import { PERMIT2 } from '../../../server/adapters/payments/mpp/upto/permit2'
import { sandboxChainProgram, startSandboxChain } from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { micros } from '../../../server/core/money'
import { PUBLISHED_ACCOUNTS } from '../../../server/core/payments/published-accounts'
import { openFaultyNode } from '../payments/faulty-node'
import { MERCHANT, PAYER } from '../payments/payment-sandbox'
import { DOLLAR_TOKEN_CODE } from './dollar-token'
import { placeUptoContracts } from './upto-contracts'

/** Base Sepolia's: version 1 of x402 only knows networks by name. */
export const EVM_CHAIN_ID = 84532
export const EVM_CHAIN_IN_V1 = 'base-sepolia' as `${string}:${string}` // the client's types only know names of version 2
export const TOKEN_NAME = 'Test Dollar'
export const TOKEN_VERSION = '2'
export const RELAYER = PUBLISHED_ACCOUNTS[2]
const DEAR = { maxFeePerGas: 200n * 10n ** 9n, maxPriorityFeePerGas: 100n * 10n ** 9n }
const ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function setPaused(bool value)',
  'function setFeePercent(uint256 value)',
  'function setTellsTransferFirst(bool value)',
  'function setBlocked(address account, bool value)',
])
const AUTHORIZATION = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

/** The parts of an offer that a payer may change. */
export interface EvmLie {
  readonly from?: string
  readonly to?: string
  readonly value?: string
  readonly validAfter?: number
  readonly validBefore?: number
  readonly nonce?: Hex
  /** Signed for another contract or chain. */
  readonly domain?: { readonly verifyingContract?: Address; readonly chainId?: number }
}

/** A plain chain with a dollar that takes authorizations (EIP-3009), a node in front of it that fails on command, and payers. */
export async function openEvmSandbox() {
  const program = sandboxChainProgram()
  if (!program) throw new Error('there is no chain program for this machine')
  const settings = { stateFile: null, network: 'ethereum', chainId: EVM_CHAIN_ID, blockSeconds: 1 } as const
  const chain = await startSandboxChain(program, settings)
  const node = openFaultyNode(chain.rpcUrl)
  const client = createClient({
    account: PAYER,
    chain: defineChain({
      id: EVM_CHAIN_ID,
      name: 'test',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [chain.rpcUrl] } },
    }),
    transport: http(chain.rpcUrl, { timeout: 60_000, retryCount: 0 }),
    pollingInterval: 20,
  })
  const deployed = await deployContract(client, { abi: ABI, bytecode: DOLLAR_TOKEN_CODE })
  const { contractAddress } = await waitForTransactionReceipt(client, { hash: deployed })
  if (!contractAddress) throw new Error('the token was not deployed')
  const token = contractAddress
  /** Through the chain itself, by an account that has its gas. */
  const write = async (data: Hex, account: PrivateKeyAccount = PAYER, to: Address = token) => {
    await ask('anvil_setBalance', [account.address, '0xde0b6b3a7640000'])
    return waitForTransactionReceipt(client, { hash: await sendTransaction(client, { account, to, data }) })
  }
  const ask = (method: string, params: readonly unknown[]) =>
    client.request({ method, params } as Parameters<typeof client.request>[0])
  const mint = (to: string, amount: bigint) =>
    writeContract(client, { address: token, abi: ABI, functionName: 'mint', args: [to as Address, amount] }).then(
      (hash) => waitForTransactionReceipt(client, { hash }),
    )
  await mint(PAYER.address, 1_000_000_000n)
  const domain = { name: TOKEN_NAME, version: TOKEN_VERSION, chainId: EVM_CHAIN_ID, verifyingContract: token }
  return {
    /** The chain itself, for payers. */
    chainUrl: chain.rpcUrl,
    /** The chain behind the faulty node, for the gateway. */
    nodeUrl: node.url,
    setFault: node.setFault,
    freezeAt: node.freezeAt,
    setLatency: node.setLatency,
    token,
    /** The settings with which a gateway offers it. */
    env: {
      PAYMENTS_EVM_RPC_URL: node.url,
      PAYMENTS_EVM_CHAIN_ID: String(EVM_CHAIN_ID),
      PAYMENTS_EVM_TOKEN: token,
      PAYMENTS_EVM_TOKEN_NAME: TOKEN_NAME,
      PAYMENTS_EVM_TOKEN_VERSION: TOKEN_VERSION,
      PAYMENTS_EVM_RECIPIENT: MERCHANT,
      PAYMENTS_EVM_RELAYER_KEY: RELAYER.key,
      // A payment with a worthless coin is never too dear.
      PAYMENTS_EVM_NATIVE_USD: '0.01',
      PAYMENTS_CONFIRMATIONS: '1',
    },
    /** The settings of the method, besides its secret. */
    options: {
      rpcUrl: node.url,
      chainId: EVM_CHAIN_ID,
      token,
      decimals: 6,
      recipient: MERCHANT,
      tokenName: TOKEN_NAME,
      tokenVersion: TOKEN_VERSION,
      relayerKey: RELAYER.key,
      gas: { maxFeePerGas: null, maxCostPerPayment: 10n ** 18n },
      minAmount: micros(1),
      confirmations: 1,
      maxBlockAgeMs: 20_000,
    },
    ask,
    mint,
    /** Puts the contracts of x402's `upto` on the chain. */
    placeUptoContracts: () => placeUptoContracts(ask),
    /** Lets Permit2 take what a payer signs. */
    approve: (by: PrivateKeyAccount = PAYER, amount = maxUint256) =>
      write(encodeFunctionData({ abi: ABI, functionName: 'approve', args: [PERMIT2, amount] }), by),
    /** Makes the token misbehave, as anybody may. */
    misbehave(...[functionName, ...args]: Misdeed) {
      return write(encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0]))
    },
    /** The balance of an address, in millionths of a dollar. */
    balance: (of: string): Promise<bigint> =>
      readContract(client, { address: token, abi: ABI, functionName: 'balanceOf', args: [of as Address] }),
    /** A payment client as callers have it. */
    payer: (account: PrivateKeyAccount = PAYER, fetching: typeof fetch = fetch) =>
      Mppx.create({
        polyfill: false,
        fetch: fetching,
        methods: [
          evm({
            account,
            authorization: { name: TOKEN_NAME, version: TOKEN_VERSION },
            currencies: [token],
            networks: [EVM_CHAIN_ID],
          }),
        ],
      }),
    /** The client that the makers of x402 give away. */
    x402: (account: PrivateKeyAccount = PAYER) =>
      new x402Client()
        .register(`eip155:${EVM_CHAIN_ID}`, new ExactEvmScheme(account))
        // It pays with well-known tokens alone, unless it is told of others.
        .setSpendControls({ allowedAssets: [{ network: `eip155:${EVM_CHAIN_ID}`, asset: token }] }),
    /** The same client, for prices that follow from the answer. `rpcUrl`: lets a payer who did not approve Permit2 sign an approval. */
    upto: (account: PrivateKeyAccount = PAYER, rpcUrl?: string) =>
      new x402Client()
        .register(`eip155:${EVM_CHAIN_ID}`, new UptoEvmScheme(account, rpcUrl === undefined ? undefined : { rpcUrl }))
        .setSpendControls({ allowedAssets: [{ network: `eip155:${EVM_CHAIN_ID}`, asset: token }] }),
    /** That client's payment for the offer in an answer. */
    async uptoSignature(paymentRequired: string, account: PrivateKeyAccount = PAYER, rpcUrl?: string): Promise<string> {
      const client = new x402HTTPClient(this.upto(account, rpcUrl))
      const offer = client.getPaymentRequiredResponse((name) =>
        /^payment-required$/i.test(name) ? paymentRequired : null,
      )
      const payload = await client.createPaymentPayload(offer)
      return client.encodePaymentSignatureHeader(payload)['PAYMENT-SIGNATURE'] ?? ''
    },
    /** Its payment, changed and signed again. */
    async uptoLie(
      paymentRequired: string,
      change: (signed: SignedPermit) => Partial<SignedPermit>,
      {
        by = PAYER,
        around = {},
        chainId = EVM_CHAIN_ID,
      }: { by?: PrivateKeyAccount; around?: object; chainId?: number } = {},
    ): Promise<string> {
      const payment = JSON.parse(atob(await this.uptoSignature(paymentRequired)))
      const honest: SignedPermit = payment.payload.permit2Authorization
      const said = { ...honest, ...change(honest) }
      const signature = await by.signTypedData({
        domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
        types: uptoPermit2WitnessTypes,
        primaryType: 'PermitWitnessTransferFrom',
        message: {
          permitted: { token: said.permitted.token, amount: BigInt(said.permitted.amount) },
          spender: said.spender,
          nonce: BigInt(said.nonce),
          deadline: BigInt(said.deadline),
          witness: { ...said.witness, validAfter: BigInt(said.witness.validAfter) },
        },
      })
      return btoa(JSON.stringify({ ...payment, payload: { signature, permit2Authorization: said }, ...around }))
    },
    /** The same client, as it pays servers of version 1. */
    x402V1: (account: PrivateKeyAccount = PAYER) =>
      new x402Client()
        .registerV1(EVM_CHAIN_IN_V1, new ExactEvmSchemeV1(account))
        .setSpendControls({ allowedAssets: [{ network: EVM_CHAIN_IN_V1, asset: token }] }),
    /** Its payment for the body of a 402, whose offer it would not find if the header of version 2 were there. */
    async x402V1Payment(body: unknown, account: PrivateKeyAccount = PAYER): Promise<string> {
      const client = new x402HTTPClient(this.x402V1(account))
      const payload = await client.createPaymentPayload(client.getPaymentRequiredResponse(() => null, body))
      return client.encodePaymentSignatureHeader(payload)['X-PAYMENT'] ?? ''
    },
    /** The payment of the client of x402 version 1, with a changed authorization. */
    async x402V1Lie(
      body: unknown,
      change: EvmLie,
      by: PrivateKeyAccount = PAYER,
      around: object = {},
    ): Promise<string> {
      const payment = JSON.parse(atob(await this.x402V1Payment(body, by))) as Pick<X402Payload, 'payload'>
      return btoa(JSON.stringify({ ...payment, payload: await changed(payment, change, by, domain), ...around }))
    },
    /** That client's payment for the offer in an answer. */
    async x402Signature(paymentRequired: string, account: PrivateKeyAccount = PAYER): Promise<string> {
      const client = new x402HTTPClient(this.x402(account))
      const offer = client.getPaymentRequiredResponse((name) =>
        /^payment-required$/i.test(name) ? paymentRequired : null,
      )
      const payload = await client.createPaymentPayload(offer)
      return client.encodePaymentSignatureHeader(payload)['PAYMENT-SIGNATURE'] ?? ''
    },
    /** Answers a challenge with an authorization that says something else than was asked. */
    async lie(header: string, change: EvmLie, by: PrivateKeyAccount = PAYER): Promise<string> {
      const challenge = Challenge.deserialize(header)
      const { amount, recipient } = challenge.request as { amount: string; recipient: string }
      const said = {
        from: by.address,
        to: recipient,
        value: amount,
        validAfter: 0,
        validBefore: Math.floor(Date.now() / 1000) + 200,
        nonce: keccak256(stringToHex(`${challenge.id}${challenge.realm}`)),
        ...change,
      }
      const payload = {
        type: 'authorization',
        nonce: said.nonce,
        value: said.value,
        from: getAddress(said.from),
        to: getAddress(said.to),
        validAfter: String(said.validAfter),
        validBefore: String(said.validBefore),
        signature: await signed(by, { ...domain, ...change.domain }, said),
      }
      return Credential.serialize({ challenge, payload })
    },
    /** The payment of the client of x402, changed: the signed authorization, or the text around it. */
    async x402Lie(
      paymentRequired: string,
      change: EvmLie,
      around: (payload: X402Payload) => object = () => ({}),
      by: PrivateKeyAccount = PAYER,
    ): Promise<string> {
      const payload = JSON.parse(atob(await this.x402Signature(paymentRequired, by))) as X402Payload
      return btoa(
        JSON.stringify({ ...payload, payload: await changed(payload, change, by, domain), ...around(payload) }),
      )
    },
    /** Empties a wallet, without the gateway. */
    async drain(from: PrivateKeyAccount) {
      const has = await this.balance(from.address)
      await write(encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [RELAYER.address, has] }), from)
    },
    /** Gives a call of the token to the node, for a price that goes before others'. */
    sendDear: (data: Hex, account: PrivateKeyAccount) =>
      sendTransaction(client, { account, to: token, data, gas: 200_000n, ...DEAR }),
    /** Resolves when a transaction waits for a block. */
    async untilPooled(): Promise<void> {
      const { pending } = (await ask('txpool_status', [])) as { pending: string }
      if (BigInt(pending) === 0n) await this.untilPooled()
    },
    /** Brings any call of the token to the chain, as anybody may. */
    write,
    async close() {
      await node.close()
      await chain.stop()
    },
  }
}

/** A payer's signature for `upto`. */
interface SignedPermit {
  readonly permitted: { readonly token: Address; readonly amount: string }
  readonly from: Address
  readonly spender: Address
  readonly nonce: string
  readonly deadline: string
  readonly witness: { readonly to: Address; readonly facilitator: Address; readonly validAfter: string }
}

type Misdeed =
  | ['setPaused' | 'setTellsTransferFirst', boolean]
  | ['setFeePercent', bigint]
  | ['setBlocked', Address, boolean]

/** The parts of a payment of x402 that the tests change. */
interface X402Payload {
  readonly accepted: Readonly<Record<string, unknown>>
  readonly extensions: { readonly mppx: { readonly info: Readonly<Record<string, string>>; readonly schema: object } }
  readonly resource: { readonly url: string }
  readonly payload: {
    readonly authorization: Omit<Said, 'validAfter' | 'validBefore'> & { validAfter: string; validBefore: string }
    readonly signature: Hex
  }
}

interface Said {
  readonly from: string
  readonly to: string
  readonly value: string
  readonly validAfter: number
  readonly validBefore: number
  readonly nonce: Hex
}

/** The signed part of a payment of x402, changed and signed again. */
async function changed(
  { payload }: Pick<X402Payload, 'payload'>,
  change: EvmLie,
  by: PrivateKeyAccount,
  domain: Parameters<typeof signed>[1],
): Promise<object> {
  const { validAfter, validBefore, ...rest } = payload.authorization
  const said = { ...rest, validAfter: Number(validAfter), validBefore: Number(validBefore), ...change }
  const { from, to, value, nonce } = said
  const signature = await signed(by, { ...domain, ...change.domain }, said)
  const times = { validAfter: String(said.validAfter), validBefore: String(said.validBefore) }
  return { authorization: { from, to, value, nonce, ...times }, signature }
}

function signed(
  by: PrivateKeyAccount,
  domain: Parameters<typeof by.signTypedData>[0]['domain'],
  said: Said,
): Promise<Hex> {
  return by.signTypedData({
    ...(domain && { domain }),
    primaryType: 'TransferWithAuthorization',
    types: { TransferWithAuthorization: AUTHORIZATION },
    message: {
      from: said.from as Address,
      to: said.to as Address,
      nonce: said.nonce,
      value: BigInt(said.value),
      validAfter: BigInt(said.validAfter),
      validBefore: BigInt(said.validBefore),
    },
  })
}
