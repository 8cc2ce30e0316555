import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Api } from '../../server/core/apis/api'
import type { ApiStore } from '../../server/core/apis/api-store'
import { makeId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import { anApi, anOperation, removing, saving } from '../support/apis'
import { NOON } from '../support/ledger-parts'

export interface ApisUnderTest {
  readonly store: ApiStore
  reopened(): Promise<ApiStore>
  /** How many audit entries were written. */
  audited(): Promise<number>
  close(): Promise<void>
}

/** The rules of every store of APIs. Its tests follow each other. */
export function apiStoreContract(name: string, open: () => Promise<ApisUnderTest>): void {
  describe(`API store: ${name}`, () => {
    let parts: ApisUnderTest
    let store: ApiStore
    beforeAll(async () => {
      parts = await open()
      store = parts.store
    })
    afterAll(() => parts.close())

    const first = makeId('price', NOON)
    const second = makeId('price', NOON)
    const counted = {
      mode: 'units',
      amount: micros(1000),
      figure: { kind: 'pointer', pointer: '/data' },
      block: 10,
      minimum: 0,
      maximum: { parameter: 'limit' },
      onMissing: null,
    } as const
    const forecast = anOperation({
      priceVersion: first,
      parameters: [
        {
          name: 'q',
          in: 'query',
          required: true,
          description: '',
          schema: { type: 'string' },
          style: 'form',
          explode: true,
        },
      ],
      price: counted,
    })
    const weather = anApi({
      auth: { kind: 'header', name: 'x-api-key', secret: { from: 'environment', name: 'UPSTREAM_KEY' } },
      headers: { 'x-client': 'gateway' },
      operations: [forecast, anOperation({ id: 'alerts', path: '/v1/alerts', priceVersion: makeId('price', NOON) })],
      createdAt: NOON,
      updatedAt: NOON,
    })
    const changed: Api = {
      ...weather,
      title: 'Weather of the world',
      updatedAt: NOON + 1,
      operations: [
        { ...forecast, name: 'weather.forecast', priceVersion: second, price: { mode: 'fixed', amount: micros(2) } },
      ],
    }

    test('returns an API as it was saved, with its operations in order, also after a restart', async () => {
      expect(await store.write([saving(weather)])).toBe(true)
      expect(await store.all()).toEqual([weather])
      store = await parts.reopened()
      expect(await store.all()).toEqual([weather])
    })

    test('refuses a change based on an outdated version, and writes none of it', async () => {
      const before = await parts.audited()
      expect(await store.write([saving(weather)])).toBe(false)
      expect(await store.write([saving(changed, NOON - 1)])).toBe(false)
      const both = await Promise.all([1, 2].map(() => store.write([saving(changed, NOON)])))
      expect(both.sort()).toEqual([false, true])
      expect(await store.all()).toEqual([changed])
      expect(await parts.audited()).toBe(before + 1)
    })

    test('keeps every price, for the charges that refer to it', async () => {
      expect(await store.price(first)).toEqual({
        id: first,
        operation: 'weather.forecast',
        price: forecast.price,
        at: NOON,
      })
      expect(await store.price('price_none')).toBeNull()
      expect((await store.pricesOf('weather.forecast')).map(({ id }) => id)).toEqual([second, first])
    })

    test('removes an API, remembers when, and keeps its prices and tool names', async () => {
      expect(await store.removedAt('weather')).toBeNull()
      expect(await store.write([removing(changed, NOON + 5)])).toBe(true)
      expect(await store.write([removing(changed, NOON + 6)])).toBe(false)
      expect(await store.all()).toEqual([])
      expect(await store.removedAt('weather')).toBe(NOON + 5)
      expect(await store.price(first)).not.toBeNull()
      expect(Object.fromEntries(await store.toolNames())).toEqual({
        weather_forecast: 'weather.forecast',
        weather_alerts: 'weather.alerts',
      })
    })

    test('makes several changes or none: one that is not as expected stops the others', async () => {
      const [one, two, three] = ['one', 'two', 'three'].map((name) =>
        anApi({ name, createdAt: NOON, updatedAt: NOON, operations: [] }),
      )
      if (!one || !two || !three) throw new Error('three APIs are needed')
      expect(await store.write([saving(one), saving(two)])).toBe(true)
      const before = await parts.audited()
      expect(await store.write([removing(one, NOON), saving(three), saving({ ...two, title: 'Two' }, NOON - 1)])).toBe(
        false,
      )
      expect(await store.all()).toEqual([one, two])
      expect(await store.removedAt('one')).toBeNull()
      expect(await parts.audited()).toBe(before)
      expect(await store.write([removing(one, NOON), removing(two, NOON)])).toBe(true)
      expect(await store.all()).toEqual([])
    })

    test('reads the price of a read without on_missing, which operations from before may have', async () => {
      const missing = { ...counted, onMissing: 5 } as const
      const write = {
        method: 'POST',
        effect: 'write',
        toolName: 'old_order',
        priceVersion: makeId('price', NOON),
      } as const
      const old = anApi({
        name: 'old',
        operations: [
          anOperation({ price: missing, toolName: 'old_forecast', priceVersion: makeId('price', NOON) }),
          anOperation({ id: 'order', price: missing, ...write }),
        ],
      })
      expect(await store.write([saving(old)])).toBe(true)
      const prices = (await store.all())[0]?.operations.map(({ price }) => price)
      expect(prices).toEqual([counted, missing])
      expect(await store.write([removing(old, NOON)])).toBe(true)
    })

    test('saves a thousand operations in one change', async () => {
      const operations = Array.from({ length: 1_001 }, (_, i) =>
        anOperation({ id: `op${i}`, path: `/v1/op${i}`, toolName: `big_op${i}`, priceVersion: makeId('price', NOON) }),
      )
      const big = anApi({ name: 'big', operations, createdAt: NOON, updatedAt: NOON })
      expect(await store.write([saving(big)])).toBe(true)
      expect(await store.all()).toEqual([big])
    })
  })
}
