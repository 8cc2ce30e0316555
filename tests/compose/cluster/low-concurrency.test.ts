import { afterAll, beforeAll, expect, test } from 'bun:test'
import { lowConcurrency } from '../../../server/compose/cluster/cells/low-concurrency'
import type { Model } from '../../../server/core/models/model'
import { keyBench } from '../../http/owner-bench'
import { type ApiUpstream, openApiUpstream } from '../../support/api-upstream'
import { anApi, anOperation, saving } from '../../support/apis'
import { type Cells, openCells } from '../../support/cluster/cells'
import { until } from '../../support/until'

const PATH = '/apis/v1/weather/v1/forecast'

let cells: Cells
let upstream: ApiUpstream
beforeAll(async () => {
  upstream = openApiUpstream()
  cells = await openCells({ env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' } })
  const api = anApi({ baseUrl: `${upstream.url}/base`, concurrency: 1, operations: [anOperation({})] })
  await cells.main.core.stores.apis.write([saving(api)])
})
afterAll(async () => {
  await cells.close()
  await upstream.close()
})

/** Calls the API with a new account of each cell. */
async function callers() {
  const owners = [await cells.owner('main@example.com'), await cells.owner('c2@example.com')]
  expect(owners.map(({ cell }) => cell)).toEqual(['main', 'c2'])
  return Promise.all(
    owners.map(async (owner) => {
      const { secret } = await keyBench(owner).create()
      return () => cells.gatewayOf(owner.cell).call(PATH, { headers: { authorization: `Bearer ${secret}` } })
    }),
  )
}

async function refusal(answer: Response | undefined) {
  const { error } = Object(await answer?.json())
  return [answer?.status, error.code, answer?.headers.get('retry-after'), error.message]
}

test('an API that is full is 429 upstream_rate_limit; one without a place in the cell says that repeating does not help', async () => {
  const [inMain, inC2] = await callers()
  const { promise, resolve } = Promise.withResolvers<Response>()
  upstream.answers(() => promise)
  const held = inMain?.()
  await until(() => upstream.calls.length === 1)
  const full = 'This API is handling as many calls as it can. Your own limits were not reached.'
  expect(await refusal(await inMain?.())).toEqual([429, 'upstream_rate_limit', '1', expect.stringContaining(full)])
  resolve(Response.json({}))
  expect((await held)?.status).toBe(200)
  const none = 'none are left for your account. Ask the operator of the gateway to allow more'
  expect(await refusal(await inC2?.())).toEqual([429, 'upstream_rate_limit', '60', expect.stringContaining(none)])
  expect(upstream.calls.length).toBe(1)
})

test('the operator is told what allows fewer calls at once than there are cells', async () => {
  const answer = await cells.main.gateway.control(new Request('http://gateway/ready', { method: 'POST' }))
  expect(Object(await answer.json()).warnings.concurrency).toContain(
    'the API weather has a concurrency of 1, so accounts in c2 get 429',
  )
})

test('the APIs and upstreams that allow fewer calls than there are cells are named, those that are off or allow enough are not', () => {
  const membership = { all: ['main', 'c2', 'c3'] }
  const upstreamOf = (host: string, concurrency: number) =>
    ({ kind: 'openai', baseUrl: `https://${host}/v1`, keyEnv: 'KEY', concurrency }) as Model['upstreams'][number]
  const models = [{ upstreams: [upstreamOf('few.example', 2), upstreamOf('many.example', 3)] }]
  const api = (name: string, concurrency: number, enabled = true) => ({ name, concurrency, enabled })
  const apis = [api('one', 1), api('off', 1, false), api('enough', 3)]
  expect(lowConcurrency(membership, { apis, models })).toBe(
    'the API one has a concurrency of 1, so accounts in c2, c3 get 429; ' +
      'the upstream openai few.example KEY has a concurrency of 2, so accounts in c3 get 429: ' +
      'set concurrency to at least 3, the number of cells',
  )
  expect(lowConcurrency(membership, { apis: [api('enough', 3)], models: [] })).toBeNull()
  expect([lowConcurrency(undefined, { apis, models }), lowConcurrency({ all: ['main'] }, { apis, models })]).toEqual([
    null,
    null,
  ])
  const many = Array.from({ length: 9 }, (_, i) => api(`a${i}`, 1))
  expect(lowConcurrency(membership, { apis: many, models })).toContain('; 5 more are affected: set concurrency')
})
