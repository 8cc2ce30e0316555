import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { micros } from '../../../server/core/money'
import { openApiUpstream } from '../../support/api-upstream'
import { anApi, anOperation } from '../../support/apis'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import type { Harness } from '../../support/harness'
import { openPayable } from '../../support/payments/payable-harness'
import { openPaymentSandbox } from '../../support/payments/payment-sandbox'
import { endAndReconcile, IMAGES_CALL } from '../wire'

const AT_ONCE = 24
/** An address without an account has so many places on routes that may take long. */
const LONG_AT_ONCE = 5
const METERED = '/apis/v1/weather/v1/forecast'

/** How the libraries of the payment methods find out who signed: milliseconds of the processor each time. */
interface Recovering {
  recoverPublicKey(...args: unknown[]): unknown
}

/** Runs `work`, and returns how many signers were found in all, and in the fullest turn of the event loop. */
async function recoveriesOf(work: () => Promise<unknown>): Promise<{ all: number; inOneTurn: number }> {
  const { secp256k1 } = await import(
    Bun.resolveSync('@noble/curves/secp256k1', Bun.resolveSync('viem', import.meta.dir))
  )
  const prototype: Recovering = secp256k1.Signature.prototype
  const { recoverPublicKey } = prototype
  let isOver = false
  let now = 0
  const counts = { all: 0, inOneTurn: 0 }
  const turn = () => {
    now = 0
    if (!isOver) setImmediate(turn)
  }
  turn()
  prototype.recoverPublicKey = function (...args) {
    counts.all++
    counts.inOneTurn = Math.max(counts.inOneTurn, ++now)
    return recoverPublicKey.apply(this, args)
  }
  try {
    await work()
  } finally {
    isOver = true
    prototype.recoverPublicKey = recoverPublicKey
  }
  return counts
}

describe('many payments at once', () => {
  let tempo: Awaited<ReturnType<typeof openPaymentSandbox>>
  let evm: Awaited<ReturnType<typeof openEvmSandbox>>
  let gateway: Harness
  const upstream = openApiUpstream(() => Response.json({ results: [1] }))

  beforeAll(async () => {
    ;[tempo, evm] = await Promise.all([openPaymentSandbox(), openEvmSandbox()])
    await Promise.all([evm.placeUptoContracts(), evm.approve()])
    gateway = await openPayable({ env: { ...tempo.env, ...evm.env } }, { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' })
    const units = { mode: 'units', amount: micros(10_000), block: 1, minimum: 1, maximum: 10, onMissing: null } as const
    const price = { ...units, figure: { kind: 'pointer', pointer: '/results' } } as const
    gateway.core.apis.replace([anApi({ baseUrl: upstream.url, operations: [anOperation({ price })] })])
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await upstream.close()
    await Promise.all([tempo.close(), evm.close()])
  })

  const required = async (path: string) => (await gateway.call(path)).headers.get('payment-required') ?? ''
  const METHODS = {
    tempo: async () => ({ authorization: await tempo.payer().createCredential(await gateway.call(IMAGES_CALL)) }),
    evm: async () => ({ authorization: await evm.payer().createCredential(await gateway.call(IMAGES_CALL)) }),
    'x402, exact': async () => ({ 'payment-signature': await evm.x402Signature(await required(IMAGES_CALL)) }),
    'x402, upto': async () => ({ 'payment-signature': await evm.uptoSignature(await required(METERED)) }),
  }
  for (const [name, buy] of Object.entries(METHODS))
    test(`by ${name} are each checked once, one in each turn of the event loop`, async () => {
      const [path, count] = name === 'x402, upto' ? [METERED, LONG_AT_ONCE] : [IMAGES_CALL, AT_ONCE]
      const bought: Record<string, string>[] = []
      for (let i = 0; i < count; i++) bought.push(await buy())
      let statuses: number[] = []
      const recoveries = await recoveriesOf(async () => {
        const answers = await Promise.all(bought.map((headers) => gateway.call(path, { headers })))
        statuses = answers.map(({ status }) => status)
      })
      expect(statuses).toEqual(Array(count).fill(200))
      expect(recoveries).toEqual({ all: count, inOneTurn: 1 })
    })
})
