import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { UpstreamFailure } from '../../../server/core/providers/provider'
import { err } from '../../../server/core/result'
import { type Harness, openHarness } from '../../support/harness'
import { until } from '../../support/until'
import { closeReconciled, type Owner, read } from '../owner-bench'
import { IMAGES_CALL } from '../wire'

interface Notices {
  readonly notices: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[]
}

const MINUTE_MS = 60_000

let gateway: Harness
let operator: Owner
let owner: Owner
let key: string
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner('operator@example.com')
  owner = await gateway.owner()
  key = (await gateway.key(await gateway.account())).secret
})
afterAll(() => closeReconciled(gateway))

const works = () => {
  gateway.images.answer = answering
}
const fails = (failure: UpstreamFailure) => {
  gateway.images.answer = async () => err(failure)
}
const answering: Harness['images']['answer'] = async () => ({ ok: true, value: { body: '{"fixture":true}' } })
const DOWN: UpstreamFailure = { kind: 'unavailable', reason: 'connection refused' }
const call = async () => (await gateway.as(key, IMAGES_CALL)).status

async function upstreamEvents(of = operator): Promise<Notices['notices']> {
  await gateway.gateway.delivering.run()
  const { notices } = await read<Notices>(of.api('/api/notices?limit=200'))
  return notices.filter(({ type }) => type.startsWith('upstream.')).reverse()
}

/** Events are written along with the calls, in the order in which they happen. */
async function written(count: number): Promise<Notices['notices']> {
  await until(async () => (await upstreamEvents()).length >= count)
  return upstreamEvents()
}

/** Goes down and comes up again. */
async function outage(): Promise<void> {
  fails(DOWN)
  for (let i = 0; i < 3; i++) {
    await call()
    gateway.clock.advance(MINUTE_MS)
  }
  works()
  await call()
}

test('an upstream that fails 3 times in a row over a minute makes one upstream.down, and its next success one upstream.up', async () => {
  fails(DOWN)
  for (let i = 0; i < 5; i++) expect(await call()).toBe(503)
  gateway.clock.advance(MINUTE_MS - 1)
  await call()
  gateway.clock.advance(1)
  await Promise.all([call(), call(), call()])
  const since = new Date(gateway.clock.now() - MINUTE_MS).toISOString()
  const down = { upstream: 'fixture', failures: 7, failing_since: since, reason: 'unavailable' }
  expect(await written(1)).toMatchObject([{ type: 'upstream.down', data: down }])
  gateway.clock.advance(10 * MINUTE_MS)
  await call()
  works()
  expect(await Promise.all([call(), call()])).toEqual([200, 200])
  expect(await written(2)).toMatchObject([
    { type: 'upstream.down', data: down },
    { type: 'upstream.up', data: { upstream: 'fixture', failing_since: since } },
  ])
  expect(await upstreamEvents(owner)).toEqual([])
})

test('failures that callers cause, limits, and few or interrupted failures make no event', async () => {
  const before = (await upstreamEvents()).length
  const passThrough = { status: 422, contentType: 'application/json', body: '{}' }
  const neutral: readonly UpstreamFailure[] = [
    { kind: 'error', reason: 'status 422', passThrough },
    { kind: 'error', reason: 'too complex', isAboutRequest: true },
    { kind: 'invalid_input', reason: 'no such place', input: { param: 'q', rule: 'must be known' } },
    { kind: 'rate_limited', reason: 'status 429' },
  ]
  for (let i = 0; i < 3; i++) {
    for (const failure of neutral) {
      fails(failure)
      expect(await call()).not.toBe(200)
    }
    gateway.clock.advance(MINUTE_MS)
  }
  for (let i = 0; i < 4; i++) {
    fails(DOWN)
    await call()
    await call()
    gateway.clock.advance(2 * MINUTE_MS)
    works()
    await call()
  }
  await outage()
  expect(await written(before + 2)).toHaveLength(before + 2)
})

test('errors that calls may cause make an event only once calls of a second account end with them, too', async () => {
  const before = (await upstreamEvents()).length
  const other = (await gateway.key(await gateway.account())).secret
  fails({ kind: 'error', reason: 'status 500' })
  for (let i = 0; i < 6; i++) {
    await call()
    gateway.clock.advance(MINUTE_MS)
  }
  expect(await upstreamEvents()).toHaveLength(before)
  await gateway.as(other, IMAGES_CALL)
  expect((await written(before + 1)).at(-1)).toMatchObject({
    type: 'upstream.down',
    data: { failures: 7, reason: 'error' },
  })
  works()
  await call()
  expect(await written(before + 2)).toHaveLength(before + 2)
})

test('a clock that is set while an upstream fails makes no event', async () => {
  const before = (await upstreamEvents()).length
  fails(DOWN)
  await call()
  gateway.clock.jump(10 * MINUTE_MS)
  await call()
  await call()
  works()
  await call()
  gateway.clock.jump(-10 * MINUTE_MS)
  await outage()
  expect(await written(before + 2)).toHaveLength(before + 2)
})
