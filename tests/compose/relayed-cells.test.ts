import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { micros } from '../../server/core/money'
import { read } from '../http/owner-bench'
import { IMAGES_CALL } from '../http/wire'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation } from '../support/apis'
import { C2, type Cells, openCells } from '../support/cluster/cells'
import { openEvmSandbox, RELAYER } from '../support/evm/evm-sandbox'
import { moneyMoved } from '../support/payments/money-moved'
import { MERCHANT } from '../support/payments/payment-sandbox'
import { reconcile } from '../support/reconcile'

const PRICE_UNITS = 5000n
const METERED = '/apis/v1/weather/v1/forecast'
const UNREACHED = () => Response.json({}, { status: 503 })
/** Whether main is asked to send something. */
const isSettlement = (body: string) => body.includes('"data"')
const AT_ONCE = 12

/** ADR 55: the gateway of `main` counts the nonces of the relayer for all cells. */
describe('two cells with one relayer', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let cells: Cells
  /** A key of an account in each cell: a payment beside it is taken by the gateway of that cell. */
  const keys = { main: '', c2: '' }
  const upstream = openApiUpstream(() => Response.json({ results: 3 }))

  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    await Promise.all([sandbox.placeUptoContracts(), sandbox.approve()])
    const more = { PAYMENTS_ATTEMPTS_RPM: '1000000', ANON_RPM: '1000000', ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' }
    cells = await openCells({ env: { ...sandbox.env, PAYMENTS: 'evm', ...more }, running: true })
    for (const { gateway } of [cells.main, cells.c2]) await gateway.rail.open()
    for (const [cell, email] of [
      ['main', 'root@example.com'],
      [C2, 'ada@example.com'],
    ] as const) {
      const owner = await cells.owner(email)
      expect(owner.cell).toBe(cell)
      keys[cell] = (await read<{ secret: string }>(owner.api('/api/keys', { name: 'first' }), 201)).secret
    }
  })
  beforeEach(() => {
    sandbox.setFault('ok')
    cells.lost = () => undefined
  })
  afterAll(async () => {
    await cells.close(true)
    for (const folder of cells.folders) expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
    await upstream.close()
    await sandbox.close()
  })

  const call = (cell: 'main' | 'c2', payment?: string) =>
    cells.gatewayOf(cell).call(IMAGES_CALL, {
      headers: payment === undefined ? {} : { authorization: payment, 'x-api-key': keys[cell] },
    })
  const buy = async (cell: 'main' | 'c2') => sandbox.payer().createCredential(await call(cell))
  const sent = async () => Number(await sandbox.ask('eth_getTransactionCount', [RELAYER.address, 'latest']))
  const asked = () => cells.c2.images.asked.length
  const codeOf = async (answer: Response) =>
    `${answer.status} ${((await answer.json()) as { error?: { code: string } }).error?.code ?? 'ok'}`
  const moved = moneyMoved(() => sandbox.balance(MERCHANT))

  test('payments in both cells at once are each sent once, and are served', async () => {
    const before = await sent()
    const money = await moved(async () => {
      const bought = await Promise.all(
        Array.from({ length: 2 * AT_ONCE }, async (_, i) => {
          const cell = i % 2 ? 'main' : C2
          return [cell, await buy(cell)] as const
        }),
      )
      const answers = await Promise.all(bought.map(([cell, payment]) => call(cell, payment)))
      expect(answers.map(({ status }) => status)).toEqual(bought.map(() => 200))
    })
    expect([money, (await sent()) - before]).toEqual([BigInt(2 * AT_ONCE) * PRICE_UNITS, 2 * AT_ONCE])
  })

  test('a price that follows from the answer is settled for another cell, too', async () => {
    const units = { mode: 'units', amount: micros(10_000), block: 1, minimum: 1, maximum: 10, onMissing: null } as const
    const price = { ...units, figure: { kind: 'pointer', pointer: '/results' } } as const
    cells.c2.core.apis.replace([anApi({ baseUrl: upstream.url, operations: [anOperation({ price })] })])
    const money = await moved(async () => {
      const headers = (await cells.c2.call(METERED)).headers
      const payment = await sandbox.uptoSignature(headers.get('payment-required') ?? '')
      const answer = await cells.c2.call(METERED, { headers: { 'payment-signature': payment, 'x-api-key': keys.c2 } })
      expect(await codeOf(answer)).toBe('200 ok')
    })
    expect(money).toBe(30_000n)
  })

  test('while main is away, another cell offers nothing, and takes no payment that was offered before', async () => {
    const payment = await buy(C2)
    const before = [await sent(), asked()]
    cells.lost = async () => UNREACHED()
    // What was found out about the chain is older than what is reused.
    cells.clock.advance(3000)
    const refused = await call(C2, payment)
    expect(refused.headers.has('retry-after')).toBe(true)
    expect(await refused.json()).toMatchObject({
      error: { code: 'service_unavailable', message: expect.stringContaining('cannot send payments') },
    })
    expect((await call(C2)).headers.get('www-authenticate') ?? '').not.toContain('Payment ')
    expect([await sent(), asked()]).toEqual(before)
    cells.lost = () => undefined
    expect(await moved(async () => expect(await codeOf(await call(C2, payment))).toBe('200 ok'))).toBe(PRICE_UNITS)
  })

  test('a settlement that never reaches main leaves the payment open, and the same credential is served later, once', async () => {
    const payment = await buy(C2)
    const before = await sent()
    const money = await moved(async () => {
      cells.lost = async (_, body, run) => (isSettlement(body) ? UNREACHED() : run())
      const open = await call(C2, payment)
      expect(open.headers.has('retry-after')).toBe(true)
      expect(await codeOf(open)).toBe('503 payment_pending')
      expect(await sent()).toBe(before)
      cells.lost = () => undefined
      expect(await codeOf(await call(C2, payment))).toBe('200 ok')
      expect(await codeOf(await call(C2, payment))).toBe('402 invalid_challenge')
    })
    expect([money, (await sent()) - before]).toEqual([PRICE_UNITS, 1])
  })

  test('a settlement whose answer is lost is found on the chain: it is sent once, and served', async () => {
    const payment = await buy(C2)
    const before = await sent()
    const money = await moved(async () => {
      cells.lost = async (_, body, run) => {
        const answer = await run()
        return isSettlement(body) ? UNREACHED() : answer
      }
      expect(await codeOf(await call(C2, payment))).toBe('200 ok')
    })
    expect([money, (await sent()) - before]).toEqual([PRICE_UNITS, 1])
  })

  test('a settlement that is asked for again before its block is there is not sent a second time', async () => {
    const payment = await buy(C2)
    const before = await sent()
    await sandbox.ask('evm_setAutomine', [false])
    await sandbox.ask('evm_setIntervalMining', [0])
    let questions = 0
    cells.lost = async (_, body, run) => {
      if (!isSettlement(body) || ++questions > 1) return run()
      void run()
      await sandbox.untilPooled()
      return UNREACHED()
    }
    expect(await codeOf(await call(C2, payment))).toBe('503 payment_pending')
    expect(questions).toBe(2)
    await sandbox.ask('evm_setAutomine', [true])
    await sandbox.ask('evm_mine', [])
    await sandbox.ask('evm_setIntervalMining', [1])
    expect(await codeOf(await call(C2, payment))).toBe('200 ok')
    expect((await sent()) - before).toBe(1)
  })

  test('main relays nothing but calls of the contracts that payments use', async () => {
    const [before, payment] = [await sent(), await buy(C2)]
    const relay = (asked: object) =>
      cells.main.gateway
        .control(new Request('http://gateway/relay', { method: 'POST', body: JSON.stringify(asked) }))
        .then((answer) => answer.json())
    expect(await relay({ to: MERCHANT, data: '0x' })).toMatchObject({ kind: 'failed', isSent: false })
    expect(await relay({ to: sandbox.token, data: '0x12345678' })).toMatchObject({ kind: 'reverts' })
    expect(await relay({})).toEqual({ kind: 'state', problem: null })
    // The gas that payments need is known where they are sent.
    const coins = await sandbox.ask('eth_getBalance', [RELAYER.address, 'latest'])
    await sandbox.ask('anvil_setBalance', [RELAYER.address, '0x0'])
    cells.clock.advance(3000)
    expect(await relay({})).toMatchObject({ kind: 'state', problem: expect.stringContaining('cannot pay for gas') })
    expect((await call(C2)).headers.get('www-authenticate') ?? '').not.toContain('Payment ')
    // It is the network that has become too dear.
    expect(await codeOf(await call(C2, payment))).toBe('503 payment_network_unavailable')
    await sandbox.ask('anvil_setBalance', [RELAYER.address, coins])
    expect(await sent()).toBe(before)
  })
})
