import { micros } from '../../server/core/money'
import { paymentCrashes } from '../contracts/payment-crash.contract'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation, saving } from '../support/apis'
import { openEvmSandbox } from '../support/evm/evm-sandbox'
import { openFacilitator } from '../support/evm/facilitator'
import { openTestStores } from '../support/ledger-parts'
import { IS_LONG } from '../support/long'
import type { Payer } from '../support/payments/paying-server'

async function open() {
  const sandbox = await openEvmSandbox()
  const x402: Payer = {
    header: 'payment-signature',
    buy: ({ headers }) => sandbox.x402Signature(headers.get('payment-required') ?? ''),
  }
  const x402V1: Payer = {
    header: 'x-payment',
    buy: async (challenged) => sandbox.x402V1Payment(await challenged.json()),
  }
  const evm: Payer = {
    header: 'authorization',
    buy: (challenged) => sandbox.payer().createCredential(challenged),
  }
  return { ...sandbox, env: { ...sandbox.env, PAYMENTS: 'evm' }, ...evm, others: { x402, 'x402 version 1': x402V1 } }
}

/** An API whose price follows from the answer, which costs more each time. */
async function openUpTo() {
  const sandbox = await openEvmSandbox()
  await Promise.all([sandbox.placeUptoContracts(), sandbox.approve()])
  const upstream = openApiUpstream(() => Response.json({ results: upstream.calls.length }))
  const units = { mode: 'units', amount: micros(10_000), block: 1, minimum: 1, maximum: 10, onMissing: null } as const
  const price = { ...units, figure: { kind: 'pointer', pointer: '/results' } } as const
  const prepare = async (folder: string) => {
    const stores = await openTestStores({ folder })
    await stores.apis.write([saving(anApi({ baseUrl: upstream.url, operations: [anOperation({ price })] }))])
    await stores.close()
  }
  return {
    ...sandbox,
    env: { ...sandbox.env, PAYMENTS: 'evm', ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' },
    header: 'payment-signature' as const,
    sold: { path: '/apis/v1/weather/v1/forecast', price: 10_000n, prepare },
    async buy({ headers }: Response) {
      // The next call is the first one again.
      upstream.calls.length = 0
      return sandbox.uptoSignature(headers.get('payment-required') ?? '')
    },
    async close() {
      await upstream.close()
      await sandbox.close()
    },
  }
}

paymentCrashes(
  'evm and x402',
  [
    ['while its block is waited for', 'eth_getTransactionReceipt', false],
    ['after the payment, before its reply', 'eth_sendRawTransaction', true],
    // These at a step alone: they name the public address, and a restart here listens on another port.
    ['after the payment, before its reply', 'eth_sendRawTransaction', true, 'x402'],
    ['after the payment, before its reply', 'eth_sendRawTransaction', true, 'x402 version 1'],
    ['before the payment is sent', 'eth_sendRawTransaction', false],
    ['while the credential is validated', 'eth_call', false],
  ],
  open,
)

/** A server without a relayer, whose payments a facilitator settles. */
async function openFacilitated() {
  const { others, ...sandbox } = await open()
  const facilitator = await openFacilitator(sandbox)
  const { PAYMENTS_EVM_RELAYER_KEY: _, ...env } = sandbox.env
  return {
    ...sandbox,
    ...others.x402,
    env: { ...env, ...facilitator.env },
    freezeAt: (_method: string, after: boolean) => facilitator.freeze(after),
    async close() {
      await facilitator.close()
      await sandbox.close()
    },
  }
}

paymentCrashes(
  'x402 that a facilitator settles',
  [
    ['while the facilitator is asked to settle', 'settle', false],
    ['after the facilitator has settled, before its reply', 'settle', true],
  ],
  openFacilitated,
  { atAnyMoment: 0 },
)

// A sent transaction is found or sent again, although the answer would cost more by now.
if (IS_LONG)
  paymentCrashes(
    'upto',
    [
      ['while its block is waited for', 'eth_getTransactionReceipt', false],
      ['after the payment, before its reply', 'eth_sendRawTransaction', true],
      ['before the payment is sent', 'eth_sendRawTransaction', false],
    ],
    openUpTo,
    { atAnyMoment: 0 },
  )
