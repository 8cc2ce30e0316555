import { Challenge, Credential } from 'mppx'
import { type Address, domainSeparator, type Hex, verifyTypedData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { UpstreamCall } from '../api-upstream'

export const WALLET_KEY = `0x${'5a'.repeat(32)}` as const
export const WALLET = privateKeyToAccount(WALLET_KEY).address
export const PAYEE = `0x${'A1'.repeat(20)}` as Address
export const TOKEN = `0x${'b2'.repeat(20)}` as Address
export const CHAIN_ID = 31338

/** A node that knows the token, and which payments were cashed. */
export function openNode() {
  const cashed = new Set<string>()
  const state = {
    seconds: 0,
    isDown: false,
    /** How often it was asked whether a payment was cashed. */
    asked: 0,
    chainId: CHAIN_ID,
    decimals: 6,
    balance: 1_000_000_000,
    tokenName: 'Test Dollar',
    /** Called instead of the answer to a question for a balance, which then never comes. */
    onBalance: null as (() => void) | null,
  }
  const called = (data: string): string => {
    if (data.startsWith('0x313ce567')) return word(state.decimals)
    if (data.startsWith('0x70a08231')) return word(state.balance)
    if (data.startsWith('0x3644e515')) return domainSeparator({ domain: { ...DOMAIN, name: state.tokenName } })
    state.asked++
    return word(cashed.has(`0x${data.slice(-64)}`) ? 1 : 0)
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (state.isDown) return new Response('', { status: 500 })
      const { id, method, params } = (await request.json()) as {
        id: number
        method: string
        params: [{ data: string }]
      }
      if (state.onBalance && method === 'eth_call' && params[0].data.startsWith('0x70a08231')) {
        state.onBalance()
        return new Promise<Response>(() => undefined)
      }
      const result = () => {
        if (method === 'eth_chainId') return hex(state.chainId)
        if (method === 'eth_call') return called(params[0].data)
        return { number: '0x10', timestamp: hex(state.seconds), transactions: [] }
      }
      return Response.json({ jsonrpc: '2.0', id, result: result() })
    },
  })
  return Object.assign(state, { cashed, url: `http://127.0.0.1:${server.port}`, close: () => server.stop(true) })
}

const DOMAIN = { name: 'Test Dollar', version: '2', chainId: CHAIN_ID, verifyingContract: TOKEN }
const hex = (value: number) => `0x${value.toString(16)}`
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`

/** The settings of a wallet that may sign 1 USD a day, 0.05 of it for one payee. `token`: what is different about its one token. */
export function walletEnv(rpcUrl: string, token: Record<string, unknown> = {}): Record<string, string> {
  const entry = { chain_id: CHAIN_ID, token: TOKEN, name: 'Test Dollar', version: '2', rpc_url: rpcUrl, ...token }
  return {
    UPSTREAM_WALLET_KEY: WALLET_KEY,
    UPSTREAM_WALLET_TOKENS: JSON.stringify([entry]),
    UPSTREAM_WALLET_DAILY_USD: '1',
    UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '0.05',
  }
}

/** A 402 that asks for 0.01 USD, in either version of x402, changed. */
export function asksToPay(url: string, change: Record<string, unknown> = {}, version: 1 | 2 = 2): Response {
  const { resource = url, ...rest } = change
  const offer = {
    scheme: 'exact',
    asset: TOKEN,
    payTo: PAYEE,
    maxTimeoutSeconds: 300,
    extra: { name: 'Test Dollar', version: '2' },
    ...(version === 2
      ? { network: `eip155:${CHAIN_ID}`, amount: '10000' }
      : { network: `eip155:${CHAIN_ID}`, maxAmountRequired: '10000', resource }),
    ...rest,
  }
  const body = {
    x402Version: version,
    error: 'pay',
    accepts: [offer],
    ...(version === 2 && { resource: { url: resource } }),
  }
  if (version === 1) return Response.json(body, { status: 402 })
  return new Response('{}', { status: 402, headers: { 'payment-required': btoa(JSON.stringify(body)) } })
}

/** A 402 that asks for 0.01 USD in the `Payment` scheme by the method `evm`, changed. */
export function asksByScheme(
  url: string,
  { request = {}, details = {}, ...change }: Record<string, unknown> & { request?: object; details?: object } = {},
): Response {
  const challenge = Challenge.from({
    id: crypto.randomUUID(),
    realm: new URL(url).host,
    method: 'evm',
    intent: 'charge',
    expires: new Date(Date.now() + 300_000).toISOString(),
    ...change,
    request: {
      amount: '10000',
      currency: TOKEN,
      recipient: PAYEE,
      methodDetails: { chainId: CHAIN_ID, credentialTypes: ['authorization'], decimals: 6, ...details },
      ...request,
    },
  })
  return new Response('{}', { status: 402, headers: { 'www-authenticate': Challenge.serialize(challenge) } })
}

/** Whether a call of the upstream carries a payment of any protocol. */
export function hasPaid({ headers }: UpstreamCall): boolean {
  return 'payment-signature' in headers || 'x-payment' in headers || isScheme(headers['authorization'])
}

const isScheme = (text: string | undefined): text is string => text?.startsWith('Payment ') ?? false

/** The transfer in a paid call, and whether its signature is the wallet's. */
export async function paymentIn({ headers }: UpstreamCall) {
  const scheme = headers['authorization']
  const text = headers['payment-signature'] ?? headers['x-payment'] ?? scheme
  if (text === undefined) return null
  const { x402Version, payload } = isScheme(text)
    ? { x402Version: null, payload: Credential.deserialize(text).payload }
    : JSON.parse(atob(text))
  const { signature } = payload as { signature: Hex }
  const authorization = (isScheme(text) ? payload : payload.authorization) as Record<string, string>
  const { from = '', to = '', value = '', validAfter = '', validBefore = '', nonce = '' } = authorization
  const isSigned = await verifyTypedData({
    address: WALLET,
    signature,
    domain: DOMAIN,
    primaryType: 'TransferWithAuthorization',
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    message: {
      from: from as Address,
      to: to as Address,
      nonce: nonce as Hex,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  })
  return { version: x402Version, text, to, value, nonce, validBefore: Number(validBefore), isSigned }
}
