import { type Address, type Hex, verifyTypedData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { UpstreamCall } from './api-upstream'

export const WALLET_KEY = `0x${'5a'.repeat(32)}` as const
export const WALLET = privateKeyToAccount(WALLET_KEY).address
export const PAYEE = `0x${'A1'.repeat(20)}` as Address
export const TOKEN = `0x${'b2'.repeat(20)}` as Address
export const CHAIN_ID = 31338

/** A node that knows which payments were cashed. */
export function openNode() {
  const cashed = new Set<string>()
  const state = { seconds: 0, isDown: false, asked: 0 }
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
      if (method === 'eth_getBlockByNumber')
        return Response.json({
          jsonrpc: '2.0',
          id,
          result: { number: '0x10', timestamp: hex(state.seconds), transactions: [] },
        })
      state.asked++
      const nonce = `0x${params[0].data.slice(-64)}`
      return Response.json({ jsonrpc: '2.0', id, result: `0x${(cashed.has(nonce) ? '1' : '0').padStart(64, '0')}` })
    },
  })
  return Object.assign(state, { cashed, url: `http://127.0.0.1:${server.port}`, close: () => server.stop(true) })
}

const hex = (value: number) => `0x${value.toString(16)}`

/** The settings of a wallet that may sign 1 USD a day, 0.05 of it for one payee. */
export function walletEnv(rpcUrl: string): Record<string, string> {
  return {
    UPSTREAM_WALLET_KEY: WALLET_KEY,
    UPSTREAM_WALLET_RPC_URL: rpcUrl,
    UPSTREAM_WALLET_CHAIN_ID: String(CHAIN_ID),
    UPSTREAM_WALLET_TOKEN: TOKEN,
    UPSTREAM_WALLET_TOKEN_NAME: 'Test Dollar',
    UPSTREAM_WALLET_TOKEN_VERSION: '2',
    UPSTREAM_WALLET_DAILY_USD: '1',
    UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '0.05',
  }
}

/** A 402 that asks for 0.01 USD, in either version of x402, changed. */
export function asksToPay(url: string, change: Record<string, unknown> = {}, version: 1 | 2 = 2): Response {
  const { resource = url, ...rest } = change
  const offer = {
    ...{
      scheme: 'exact',
      asset: TOKEN,
      payTo: PAYEE,
      maxTimeoutSeconds: 300,
      extra: { name: 'Test Dollar', version: '2' },
    },
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

/** The transfer in a paid call, if its signature is the wallet's. */
export async function paymentIn({ headers }: UpstreamCall) {
  const text = headers['payment-signature'] ?? headers['x-payment']
  if (text === undefined) return null
  const { x402Version, payload } = JSON.parse(atob(text))
  const { authorization, signature } = payload as { authorization: Record<string, string>; signature: Hex }
  const { from = '', to = '', value = '', validAfter = '', validBefore = '', nonce = '' } = authorization
  const isSigned = await verifyTypedData({
    address: WALLET,
    signature,
    domain: { name: 'Test Dollar', version: '2', chainId: CHAIN_ID, verifyingContract: TOKEN },
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
      ...{ from: from as Address, to: to as Address, nonce: nonce as Hex },
      ...{ value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) },
    },
  })
  return { version: x402Version, text, to, value, nonce, validBefore: Number(validBefore), isSigned }
}
