import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, defineChain, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { EVM_CHAIN_ID } from './evm-sandbox'

/** How a facilitator misbehaves at settling. */
export type FacilitatorFault =
  | 'ok'
  | 'refuses'
  | 'hangs'
  | 'settles and hangs'
  | 'settles and fails'
  | 'says that it settled'
  | 'says that another transfer settled it'
  | 'is down'

/** The facilitator that the makers of x402 give away, over HTTP as they describe it, on a chain of ours; it fails on command. */
export async function openFacilitator(
  sandbox: { readonly chainUrl: string; ask(method: string, params: readonly unknown[]): Promise<unknown> },
  authorization = 'Bearer of this test',
) {
  const account = privateKeyToAccount(generatePrivateKey())
  await sandbox.ask('anvil_setBalance', [account.address, '0xde0b6b3a7640000'])
  const chain = defineChain({
    id: EVM_CHAIN_ID,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [sandbox.chainUrl] } },
  })
  const wallet = createWalletClient({ account, chain, transport: http(), pollingInterval: 20 }).extend(publicActions)
  // Its own types of viem are older.
  const signer = toFacilitatorEvmSigner({ ...wallet, address: account.address } as unknown as SignerParts)
  const facilitator = new x402Facilitator().register(`eip155:${EVM_CHAIN_ID}`, new ExactEvmScheme(signer))
  let fault: FacilitatorFault = 'ok'
  let frozen: { readonly after: boolean; readonly reached: () => void } | null = null
  let other = `0x${'11'.repeat(32)}`
  const asked: { readonly path: string; readonly body: unknown }[] = []

  async function settle(body: Asked): Promise<Response> {
    const [from, network] = [String(account.address), `eip155:${EVM_CHAIN_ID}`]
    const { after, reached } = frozen ?? {}
    frozen = null
    if (reached && !after) return never(reached)
    if (fault === 'refuses')
      return Response.json({ success: false, errorReason: 'insufficient_funds', transaction: '', network, payer: from })
    if (fault === 'hangs') return never()
    if (fault === 'says that it settled' || fault === 'says that another transfer settled it') {
      const transaction = fault === 'says that it settled' ? `0x${'22'.repeat(32)}` : other
      return Response.json({ success: true, transaction, network, payer: from })
    }
    const settled = await facilitator.settle(body.paymentPayload, body.paymentRequirements)
    other = settled.transaction || other
    if (reached) return never(reached)
    if (fault === 'settles and hangs') return never()
    return fault === 'settles and fails' ? new Response('', { status: 500 }) : Response.json(settled)
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (fault === 'is down') return new Response('', { status: 503 })
      if (request.headers.get('authorization') !== authorization) return new Response('', { status: 401 })
      if (pathname === '/x402/supported') return Response.json(facilitator.getSupported())
      const body = (await request.json()) as Asked
      asked.push({ path: pathname, body })
      if (pathname === '/x402/verify')
        return Response.json(await facilitator.verify(body.paymentPayload, body.paymentRequirements))
      return pathname === '/x402/settle' ? settle(body) : new Response('', { status: 404 })
    },
  })
  return {
    /** The settings with which a gateway uses it. */
    env: {
      PAYMENTS_FACILITATOR_URL: `http://127.0.0.1:${server.port}/x402`,
      PAYMENTS_FACILITATOR_AUTHORIZATION: authorization,
    },
    address: account.address,
    asked,
    settlements: () => asked.filter(({ path }) => path === '/x402/settle').length,
    setFault(next: FacilitatorFault) {
      fault = next
    },
    /** Lets the next settlement get no answer: before it is sent to the chain, or after. Resolves when it has come. */
    freeze: (after: boolean) =>
      new Promise<void>((reached) => {
        frozen = { after, reached }
      }),
    close: () => server.stop(true),
  }
}

type SignerParts = Parameters<typeof toFacilitatorEvmSigner>[0]

interface Asked {
  readonly paymentPayload: Parameters<x402Facilitator['settle']>[0]
  readonly paymentRequirements: Parameters<x402Facilitator['settle']>[1]
}

function never(reached: () => void = () => undefined): Promise<Response> {
  reached()
  return new Promise(() => undefined)
}
