import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, IMAGES, keyBench, type Owner, read, refusalOf } from '../owner-bench'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ running: true })
})
afterAll(() => gateway.close())

const set = (owner: Owner, alerts: readonly object[]) => owner.api('/api/settings', { alerts }, 'PATCH')

async function reached(owner: Owner): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { alerts, delivering } = gateway.gateway
  await alerts.run(new AbortController().signal)
  await delivering.run()
  const { notices } = await read<{ notices: { type: string; data: Readonly<Record<string, unknown>> }[] }>(
    owner.api('/api/notices'),
  )
  return notices.flatMap(({ type, data }) => (type === 'alert.reached' ? [data] : []))
}

describe('an alert', () => {
  test('about the spend of a day fires once a day, for one key or all, at the amount', async () => {
    const owner = await gateway.owner()
    const [one, other] = [await keyBench(owner).create(), await keyBench(owner).create()]
    const alerts = [
      { on: 'spend_day', usd: 0.01 },
      { on: 'spend_day', usd: 0.01, key: other.key.id },
    ]
    await read(set(owner, alerts))
    expect(await callWith(gateway, one.secret)).toBe('200')
    expect(await reached(owner)).toEqual([])
    expect(await callWith(gateway, one.secret)).toBe('200')
    const first = { on: 'spend_day', threshold_micros_usd: 10_000, spent_micros_usd: 10_000 }
    expect(await reached(owner)).toMatchObject([first])
    expect(await callWith(gateway, other.secret)).toBe('200')
    expect(await reached(owner)).toHaveLength(1)
    expect(await callWith(gateway, other.secret)).toBe('200')
    expect(await reached(owner)).toMatchObject([{ key_id: other.key.id, spent_micros_usd: 10_000 }, first])
    gateway.clock.advance(86_400_000)
    expect(await reached(owner)).toHaveLength(2)
    for (let i = 0; i < 2; i++) expect(await callWith(gateway, one.secret)).toBe('200')
    expect(await reached(owner)).toHaveLength(3)
  })

  test('about the balance fires below the amount, and about failures from 20 requests of an hour on', async () => {
    const owner = await gateway.owner()
    const { secret } = await keyBench(owner).create()
    const alerts = [
      { on: 'balance', usd: 1.999 },
      { on: 'failures_hour', percent: 50 },
    ]
    await read(set(owner, alerts))
    expect(await reached(owner)).toEqual([])
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await reached(owner)).toMatchObject([{ on: 'balance', balance_micros_usd: 1_995_000 }])
    const invalid = IMAGES.replace(/\?.*/, '')
    for (let i = 0; i < 18; i++) expect((await gateway.as(secret, invalid)).status).toBe(400)
    expect(await reached(owner)).toHaveLength(1)
    expect((await gateway.as(secret, invalid)).status).toBe(400)
    const [newest] = await reached(owner)
    expect(newest).toMatchObject({ on: 'failures_hour', requests: 20, failed_requests: 19, percent: 95 })
  })

  test('is checked for its owner alone, and not after it was removed', async () => {
    const [owner, other] = [await gateway.owner(), await gateway.owner()]
    const { secret } = await keyBench(owner).create()
    await read(set(other, [{ on: 'spend_day', usd: 0.000001 }]))
    await read(set(owner, [{ on: 'spend_day', usd: 0.001 }]))
    await read(set(owner, []))
    expect(await callWith(gateway, secret)).toBe('200')
    expect([await reached(owner), await reached(other)]).toEqual([[], []])
  })

  test.each([
    [[{ on: 'spend_day' }]],
    [[{ on: 'spend_day', usd: 0 }]],
    [[{ on: 'spend_day', usd: 1, percent: 5 }]],
    [[{ on: 'failures_hour', usd: 1 }]],
    [[{ on: 'failures_hour', percent: 101 }]],
    [[{ on: 'balance', usd: 1, key: 'key_1' }]],
    [[{ on: 'latency', usd: 1 }]],
    [Array.from({ length: 21 }, () => ({ on: 'balance', usd: 1 }))],
  ])('like %j is refused by name', async (alerts) => {
    const owner = await gateway.owner()
    const refusal = await refusalOf(set(owner, alerts))
    expect([refusal.status, refusal.param?.startsWith('alerts')]).toEqual([400, true])
  })
})
