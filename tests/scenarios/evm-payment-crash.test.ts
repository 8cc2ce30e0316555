import { micros } from '../../server/core/money'
import { paymentCrashes } from '../contracts/payment-crash.contract'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation, saving } from '../support/apis'
import { openEvmSandbox } from '../support/evm/evm-sandbox'
import { openFacilitator } from '../support/evm/facilitator'
import { openTestStores } from '../support/ledger-parts'

async function open() {
  const sandbox = await openEvmSandbox()
  const buy = (challenged: Response) => sandbox.payer().createCredential(challenged)
  return { ...sandbox, env: { ...sandbox.env, PAYMENTS: 'evm' }, header: 'authorization' as const, buy }
}

async function openX402() {
  const sandbox = await open()
  const buy = ({ headers }: Response) => sandbox.x402Signature(headers.get('payment-required') ?? '')
  return { ...sandbox, header: 'payment-signature' as const, buy }
}

async function openX402V1() {
  const sandbox = await open()
  const buy = async (challenged: Response) => sandbox.x402V1Payment(await challenged.json())
  return { ...sandbox, header: 'x-payment' as const, buy }
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
  'evm',
  [
    ['while the credential is validated', 'eth_call', false],
    ['before the payment is sent', 'eth_sendRawTransaction', false],
    ['after the payment, before its reply', 'eth_sendRawTransaction', true],
    ['while its block is waited for', 'eth_getTransactionReceipt', false],
  ],
  open,
)

// At a step alone: a payment names the public address, and a restart here listens on another port.
paymentCrashes('x402', [['after the payment, before its reply', 'eth_sendRawTransaction', true]], openX402, 0)
paymentCrashes(
  'x402 version 1',
  [['after the payment, before its reply', 'eth_sendRawTransaction', true]],
  openX402V1,
  0,
)
/** A server without a relayer, whose payments a facilitator settles. */
async function openFacilitated() {
  const sandbox = await openX402()
  const facilitator = await openFacilitator(sandbox)
  const { PAYMENTS_EVM_RELAYER_KEY: _, ...env } = sandbox.env
  return {
    ...sandbox,
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
  0,
)

// What was sent is found or sent again, although the answer would cost more by now.
paymentCrashes(
  'upto',
  [
    ['before the payment is sent', 'eth_sendRawTransaction', false],
    ['after the payment, before its reply', 'eth_sendRawTransaction', true],
    ['while its block is waited for', 'eth_getTransactionReceipt', false],
  ],
  openUpTo,
  0,
)
