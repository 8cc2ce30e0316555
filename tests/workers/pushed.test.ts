import { expect, test } from 'bun:test'
import type { Api } from '../../server/core/apis/api'
import { ApiRoutes } from '../../server/core/apis/api-routes'
import type { PriceOverride } from '../../server/core/catalog/prices'
import { Pieces, PushedTables } from '../../server/workers/pushed'
import { anApi } from '../support/apis'

const SECRET = { from: 'environment', name: 'UPSTREAM_KEY' } as const
const TABLES = { models: [], vendors: [], keys: {}, prices: [], upToFrom: null, workers: 3 }

function pushing(...apis: Api[]) {
  const primary = { routes: new ApiRoutes(apis) }
  const pieces = new Pieces({
    settings: { BASE_URL: 'https://api.test' },
    tables: () => TABLES,
    routes: () => primary.routes,
    secretsOf: (api, { from }) => (from === 'environment' ? `the secret of ${api}` : null),
  })
  const worker = new PushedTables()
  const take = (all: Iterable<unknown>) => {
    let count = 0
    for (const piece of all) {
      worker.take(JSON.parse(JSON.stringify(piece)))
      count++
    }
    return count
  }
  const sells = (...now: Api[]) => {
    primary.routes = new ApiRoutes(now)
  }
  return { pieces, worker, take, sells, names: () => worker.apis.routes.apis.map(({ name }) => name).sort() }
}

test('a worker gets the APIs with their opened secrets and its part of their concurrency', () => {
  const weather = anApi({ auth: { kind: 'bearer', secret: SECRET }, concurrency: 10 })
  const { pieces, worker, take, names } = pushing(weather)
  take(pieces.all())
  expect([names(), worker.apis.routes.apis[0]?.concurrency]).toEqual([[weather.name], 3])
  expect(worker.secretsOf(weather.name, SECRET)).toBe(`the secret of ${weather.name}`)
  expect(worker.secretsOf('another', SECRET)).toBeNull()
})

test('a worker gets the keys of vendors, each for the URL that it was given for', () => {
  const worker = new PushedTables()
  const vendors = [{ name: 'acme', baseUrl: 'https://acme.test/v1', key: 'sk-1' }]
  worker.take({ tables: { ...TABLES, vendors, keys: { ACME_KEY: 'sk-2' } } })
  expect([worker.keyOf('ACME_KEY'), worker.keyOf('SECRET_KEY')]).toEqual(['sk-2', null])
  const urls = ['https://acme.test/v1', 'https://other.test/v1']
  expect(urls.map((url) => worker.vendorKeyOf('acme', url))).toEqual(['sk-1', undefined])
  worker.take({ tables: TABLES })
  expect(worker.vendorKeyOf('acme', 'https://acme.test/v1')).toBeUndefined()
})

test('APIs whose tokens or payments only the primary has, that are off sale or too large for a frame stay with it', () => {
  const oauth2 = { kind: 'oauth2', tokenUrl: 'https://a.test', clientId: 'a', secret: SECRET, scope: null } as const
  const { pieces, take, names } = pushing(
    anApi({ name: 'plain' }),
    anApi({ name: 'tokens', auth: oauth2 }),
    anApi({ name: 'paid', auth: { kind: '402', payees: [] } }),
    anApi({ name: 'off', enabled: false }),
    anApi({ name: 'large', description: 'x'.repeat(2 * 1024 * 1024) }),
  )
  take(pieces.all())
  expect(names()).toEqual(['plain'])
})

test('a change pushes what has changed, and takes away what a worker may no longer serve', () => {
  const [one, two, three] = [anApi({ name: 'one' }), anApi({ name: 'two' }), anApi({ name: 'three' })]
  const { pieces, worker, take, sells, names } = pushing(one, two, three)
  take(pieces.all())
  take(pieces.changed())
  sells({ ...one, title: 'New' }, { ...two, enabled: false })
  const pushed = [...pieces.changed()]
  expect(pushed.flatMap(({ apis = [] }) => apis.map(({ name }) => name)).sort()).toEqual(['one', 'three', 'two'])
  take(pushed)
  expect([names(), worker.apis.routes.apis[0]?.title]).toEqual([['one'], 'New'])
  expect([...pieces.changed()].flatMap(({ apis = [] }) => apis)).toEqual([])
})

test('a worker that comes back has all that its primary has now, and nothing else', () => {
  const price = { id: 'price_1', operation: 'image-search', accountId: null, amount: 5, basisPoints: null, at: 1 }
  const [one, two] = [anApi({ name: 'one' }), anApi({ name: 'two' })]
  const { pieces, worker, take, sells, names } = pushing(one, two)
  take(pieces.all())
  worker.take({ tables: { ...TABLES, prices: [price as PriceOverride] } })
  expect([names(), worker.prices.all()]).toEqual([['one', 'two'], [price as PriceOverride]])
  sells(two)
  take(pieces.all())
  expect([names(), worker.prices.all()]).toEqual([['two'], []])
  sells()
  take(pieces.all())
  expect(names()).toEqual([])
})

test('what was pushed is taken once all workers have it, also one that began meanwhile; a push that fails holds nobody up', async () => {
  const { pieces } = pushing(anApi({}))
  const taken = Promise.withResolvers<boolean>()
  const beginning = pieces.pushAll(() => taken.promise)
  const failing = pieces.pushChanged(() => Promise.reject(new Error('no worker')))
  let isPushed = false
  const pushed = pieces.pushed.then(() => {
    isPushed = true
  })
  await expect(failing).rejects.toThrow('no worker')
  expect(isPushed).toBe(false)
  taken.resolve(true)
  await Promise.all([beginning, pushed])
  expect(isPushed).toBe(true)
})

test('many APIs come in pieces that a frame has room for', () => {
  const apis = Array.from({ length: 10 }, (_, i) => anApi({ name: `api-${i}`, description: 'x'.repeat(400 * 1024) }))
  const { pieces, take, names } = pushing(...apis)
  expect(take(pieces.all())).toBe(7)
  expect(names()).toEqual(apis.map(({ name }) => name))
  for (const piece of pieces.all()) expect(JSON.stringify([piece]).length).toBeLessThan(4 * 1024 * 1024)
})
