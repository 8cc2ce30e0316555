import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { ok } from '../../../server/core/result'
import type { RequestContext } from '../../../server/http/middleware/request-context'
import { healthRoutes } from '../../../server/http/system/health-routes'
import { Readiness } from '../../../server/http/system/readiness'
import { openFile } from '../../support/databases/database-file'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { CONTEXT_CALL, endAndReconcile, IMAGES_CALL, logWritten, PRICE, refusalOf } from '../wire'

describe('/health and /ready', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness()
  })
  beforeEach(() => {
    gateway.context.isReady = true
  })
  afterAll(() => endAndReconcile(gateway))

  test('/health is 200 while the process lives, whatever else fails', async () => {
    gateway.context.isReady = false
    const answer = await gateway.call('/health')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ status: 'ok' })
  })

  test('/ready is 200, uncached, when the database responds and accepts charges', async () => {
    const answer = await gateway.call('/ready')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toEqual({ status: 'ready' })
  })

  test('/ready stays 200 when a provider fails, and shows only the status to anyone but operators', async () => {
    gateway.context.isReady = false
    const operator = await gateway.owner()
    const owner = await gateway.owner()
    for (const send of [gateway.call, owner.api]) {
      const answer = await send('/ready')
      expect(answer.status).toBe(200)
      expect(await answer.json()).toEqual({ status: 'ready' })
    }
    const told = {
      status: 'ready',
      checks: { database: true, charges: true, search: true },
      problems: {},
      warnings: {},
      sources: { search: false },
      models: [],
    }
    expect(await (await operator.api('/ready')).json()).toEqual(told)
    expect(await gateway.readiness()).toEqual(told)
  })

  test('/ready is 503 while the first index is built and no provider can search, and 200 as soon as one can', async () => {
    gateway.context.isReady = false
    const building = Promise.withResolvers<null>()
    const built = gateway.gateway.index.prepare(
      () => {},
      () => building.promise,
    )
    const answer = await gateway.call('/ready')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await answer.json()).toEqual({ status: 'not_ready', code: 'search_unavailable' })
    expect(await gateway.readiness()).toMatchObject({
      checks: { search: false },
      problems: { search: 'the search index is being built; the log shows how far it is' },
    })

    // An older index, or another provider, answers meanwhile.
    gateway.context.isReady = true
    expect((await gateway.call('/ready')).status).toBe(200)
    gateway.context.isReady = false
    building.resolve(null)
    await built
    expect((await gateway.call('/ready')).status).toBe(200)
  })

  test('operators read that no backups can be made, which leaves the gateway ready', async () => {
    const other = await openHarness({ env: { BACKUP_TO: '/proc/copies' } })
    expect(await other.readiness()).toMatchObject({
      status: 'ready',
      warnings: { backups: expect.stringContaining('/proc/copies cannot be written') },
    })
    expect(await (await other.call('/ready')).json()).toEqual({ status: 'ready' })
    await other.close()
  })

  test('neither needs a key or counts toward a rate limit', async () => {
    for (const path of ['/health', '/ready']) {
      const answer = await gateway.as('gwk_nobody', path)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ratelimit-limit-requests')).toBeNull()
    }
  })
})

describe('a database that does not answer (spec D2)', () => {
  test('/ready is 503 with Retry-After, also where the session of its cookie cannot be read', async () => {
    const readiness = new Readiness({
      checks: { database: async () => 'no route to host', charges: async () => null },
      sources: async () => ({}),
      upstreams: () => [],
      isDraining: () => false,
    })
    const owners = { owner: () => Promise.reject(new Error('no database')) }
    const headers = { cookie: 'session=x' }
    const routes = healthRoutes({ readiness, owners }).onRequest((elysia) => {
      elysia.context = { origin: {} } as RequestContext // all that the route reads of it
    })
    const answer = await routes.handle(new Request('http://localhost/ready', { headers }))
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await answer.json()).toEqual({ status: 'not_ready', code: 'database_unavailable' })
  })

  test('/ready answers within seconds also when the database never does, or its check fails; operators read why', async () => {
    const readiness = new Readiness({
      checks: {
        database: () => Promise.reject(new Error('broken')),
        charges: () => Promise.withResolvers<null>().promise,
      },
      sources: async () => ({}),
      upstreams: () => [],
      isDraining: () => false,
      maxCheckMs: 10,
    })
    expect(await readiness.details()).toMatchObject({
      status: 'not_ready',
      code: 'database_unavailable',
      checks: { database: false, charges: false },
      problems: { database: 'broken', charges: 'it did not respond within 10 ms' },
    })
  })

  test('a usage report is then 503 service_unavailable with Retry-After and the limit headers, never 401, 404 or 500', async () => {
    const gateway = await openHarness()
    const key = await gateway.key(await gateway.account())
    await logWritten(gateway)
    const other = openFile(gateway.databaseFile)
    await other.execute('ALTER TABLE requests RENAME TO away')
    for (const path of ['/v1/usage', '/v1/usage/req_x']) {
      const answer = await gateway.as(key, path)
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
      const refusal = await refusalOf(answer)
      expect(refusal).toMatchObject({ status: 503, type: 'api_error', code: 'service_unavailable', retry_after: 1 })
      expect(refusal.message).not.toContain('requests')
      expect(gateway.logged.join('')).toContain(refusal.request_id)
    }
    await other.execute('ALTER TABLE away RENAME TO requests')
    other.close()
    expect((await gateway.as(key, '/v1/usage')).status).toBe(200)
    await endAndReconcile(gateway)
  })
})

describe('draining', () => {
  let gateway: Harness
  let key: MadeKey

  beforeEach(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account(0, null))
  })

  test('every new call is 503 service_unavailable with Retry-After and ids; of the gated prefixes with limit headers too', async () => {
    gateway.gateway.stopping.drain()
    for (const path of [IMAGES_CALL, CONTEXT_CALL, '/v1/usage', '/v1/nothing', '/mcp', '/api/account', '/']) {
      const answer = await gateway.as(key, path)
      const limit = answer.headers.get('x-ratelimit-remaining-requests')
      expect(`${path} ${limit}`).toBe(`${path} ${/^\/(v1|apis|mcp)/.test(path) ? '60' : null}`)
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(await refusalOf(answer)).toMatchObject({ status: 503, type: 'api_error', code: 'service_unavailable' })
    }
    expect(gateway.images.asked).toHaveLength(0)
    await endAndReconcile(gateway)
  })

  test('/ready says draining with 503, so that load balancers stop sending calls; /health is still 200', async () => {
    gateway.gateway.stopping.drain()
    const answer = await gateway.call('/ready')
    expect(answer.status).toBe(503)
    expect((await answer.json()).status).toBe('draining')
    expect((await gateway.call('/health')).status).toBe(200)
    await endAndReconcile(gateway)
  })

  test('a call in progress is served and charged', async () => {
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    gateway.images.answer = async () => {
      begun.resolve()
      await go.promise
      return ok({ body: '{"late":true}' })
    }
    const answer = gateway.as(key, IMAGES_CALL)
    await begun.promise
    gateway.gateway.stopping.drain()
    go.resolve()
    expect((await answer).status).toBe(200)
    expect((await answer).headers.get('x-cost-micros-usd')).toBe(String(PRICE))
    await endAndReconcile(gateway)
  })
})
