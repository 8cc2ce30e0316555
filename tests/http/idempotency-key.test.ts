import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { err, ok } from '../../server/core/result'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { CONTEXT_CALL, endAndReconcile, IMAGES_CALL, PRICE } from './wire'

const DAY_MS = 24 * 3_600_000

describe('Idempotency-Key (spec D5)', () => {
  let gateway: Harness
  let account: Awaited<ReturnType<Harness['account']>>
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness({ env: { ANON_RPM: '1000000' } })
  })
  beforeEach(async () => {
    let answers = 0
    gateway.images.answer = async () => ok({ body: `{"answer":${++answers}}` })
    account = await gateway.account(1)
    key = await gateway.key(account)
  })
  afterAll(() => endAndReconcile(gateway))

  const ask = (name: string, path = IMAGES_CALL, who: MadeKey = key) =>
    gateway.as(who, path, { headers: { 'idempotency-key': name } })
  const told = async (answer: Response) => {
    const { error, ...body } = (await answer.json()) as { error?: { code: string } }
    return [answer.status, error?.code ?? body]
  }
  const spent = async () => {
    const balance = await gateway.core.ledger.balance(account.id)
    return 3_000_000 - Number(balance?.posted)
  }

  test('a repeat gets the same answer, is not charged, and says so', async () => {
    const first = await ask('one')
    const again = await ask('one')
    expect([await told(first), await told(again)]).toEqual([
      [200, { answer: 1 }],
      [200, { answer: 1 }],
    ])
    expect([first, again].map(({ headers }) => headers.get('x-cost-micros-usd'))).toEqual([String(PRICE), '0'])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.get('api-version')).toBe(first.headers.get('api-version'))
    expect(await spent()).toBe(PRICE)
  })

  test('of many requests at once one runs and is charged; the others wait and get its answer', async () => {
    gateway.images.answer = async () => {
      await Bun.sleep(20)
      return ok({ body: '{"answer":1}' })
    }
    const before = gateway.images.asked.length
    const all = await Promise.all(Array.from({ length: 8 }, async () => told(await ask('race'))))
    expect(all).toEqual(Array(8).fill([200, { answer: 1 }]))
    expect([gateway.images.asked.length - before, await spent()]).toEqual([1, PRICE])
  })

  test('another request under the key is 409 idempotency_conflict, and is not charged', async () => {
    await ask('two')
    expect(await told(await ask('two', `${IMAGES_CALL}s`))).toEqual([409, 'idempotency_conflict'])
    expect(await spent()).toBe(PRICE)
  })

  test('each operation and each account has its own keys; the keys of one account share them', async () => {
    await ask('three')
    expect((await ask('three', CONTEXT_CALL)).headers.get('idempotency-replayed')).toBeNull()
    const sibling = await gateway.key(account)
    expect(await told(await ask('three', IMAGES_CALL, sibling))).toEqual([200, { answer: 1 }])
    const stranger = await gateway.key(await gateway.account(1))
    expect(await told(await ask('three', IMAGES_CALL, stranger))).toEqual([200, { answer: 2 }])
  })

  test('a failure is not stored: the next request runs', async () => {
    gateway.images.answer = async () => err({ kind: 'error', reason: 'test' })
    expect((await ask('four')).status).toBe(502)
    gateway.images.answer = async () => ok({ body: '{"answer":9}' })
    expect(await told(await ask('four'))).toEqual([200, { answer: 9 }])
    expect(await spent()).toBe(PRICE)
  })

  test('an answer over 256 KiB is served and charged once, and not stored: a repeat is 409 answer_not_kept', async () => {
    gateway.images.answer = async () => ok({ body: JSON.stringify({ long: 'x'.repeat(256 * 1024) }) })
    expect((await ask('five')).status).toBe(200)
    expect(await told(await ask('five'))).toEqual([409, 'answer_not_kept'])
    expect(await spent()).toBe(PRICE)
  })

  test('after 24 hours the key is free again', async () => {
    await ask('six')
    gateway.clock.advance(DAY_MS - 1)
    expect(await told(await ask('six'))).toEqual([200, { answer: 1 }])
    gateway.clock.advance(1)
    expect(await told(await ask('six'))).toEqual([200, { answer: 2 }])
    expect(await told(await ask('six', `${IMAGES_CALL}s`))).toEqual([409, 'idempotency_conflict'])
    await gateway.core.stores.idempotencyRecords.prune(gateway.clock.now() + DAY_MS)
    expect(await told(await ask('six', `${IMAGES_CALL}s`))).toEqual([200, { answer: 3 }])
    expect(await spent()).toBe(3 * PRICE)
  })

  test('stored answers survive a restart', async () => {
    await ask('seven')
    await gateway.close(true)
    gateway = await openHarness({ folder: gateway.folder, env: { ANON_RPM: '1000000' } })
    expect(await told(await ask('seven'))).toEqual([200, { answer: 1 }])
    expect(gateway.images.asked).toHaveLength(0)
  })

  test('without an account the header is ignored, and an invalid one is a 400', async () => {
    expect((await gateway.call(IMAGES_CALL, { headers: { 'idempotency-key': 'eight' } })).status).toBe(402)
    expect(await told(await ask('with a space'))).toEqual([400, 'invalid_parameter'])
    expect(await told(await ask('x'.repeat(256)))).toEqual([400, 'invalid_parameter'])
  })
})
