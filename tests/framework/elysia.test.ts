import { describe, expect, test } from 'bun:test'
import { Elysia, t } from 'elysia'

const request = (path: string, init?: RequestInit) => new Request(`http://localhost${path}`, init)
const json = (body: string) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body })

describe('Elysia', () => {
  test('runs onRequest before it parses: malformed JSON is seen there first', async () => {
    const order: string[] = []
    const app = new Elysia()
      .onRequest(() => {
        order.push('request')
      })
      .onParse(() => {
        order.push('parse')
      })
      .derive(() => {
        order.push('derive')
        return {}
      })
      .post('/', ({ body }) => body)
    expect((await app.handle(request('/', json('{')))).status).toBe(400)
    expect(order).toEqual(['request', 'parse'])
  })

  test('answers with the Response that onRequest returns, and runs nothing after it', async () => {
    let ran = 0
    const app = new Elysia()
      .onRequest(async () => {
        await Promise.resolve()
        return new Response('turned away', { status: 429 })
      })
      .derive(() => {
        ran++
        return {}
      })
      .post('/', () => ++ran, { body: t.Object({ a: t.String() }) })
    for (const [path, init] of [
      ['/', json('{')],
      ['/', json('{"a":"b"}')],
      ['/unknown', undefined],
    ] as const) {
      const answer = await app.handle(request(path, init))
      expect([answer.status, await answer.text()]).toEqual([429, 'turned away'])
    }
    expect(ran).toBe(0)
  })

  test('runs onRequest for a path and for a method that it does not have', async () => {
    const seen: string[] = []
    const app = new Elysia()
      .onRequest(({ request: { method, url } }) => {
        seen.push(`${method} ${new URL(url).pathname}`)
      })
      .get('/known', () => 'x')
    const answers = await Promise.all([
      app.handle(request('/unknown')),
      app.handle(request('/known', { method: 'PUT' })),
    ])
    expect(answers.map((answer) => answer.status)).toEqual([404, 404])
    expect(seen).toEqual(['GET /unknown', 'PUT /known'])
  })

  test('keeps its hooks and routes over handle, without a socket', async () => {
    const app = new Elysia().get('/a/:id', ({ params }) => ({ id: params.id }))
    const answer = await app.handle(request('/a/7'))
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(await answer.json()).toEqual({ id: '7' })
  })

  test('runs the GET handler for HEAD: what is priced must refuse it before', async () => {
    let ran = 0
    const app = new Elysia().get('/', () => `ran ${++ran}`)
    const server = app.listen({ port: 0, hostname: '127.0.0.1' }).server
    try {
      const answer = await fetch(`http://127.0.0.1:${server?.port}/`, { method: 'HEAD' })
      expect([answer.status, await answer.text()]).toEqual([200, ''])
      expect(ran).toBe(1)
    } finally {
      await app.stop(true)
    }
  })

  test('keeps what onRequest sets on its context for the handler and onError, apart for each request', async () => {
    const release = Promise.withResolvers<void>()
    const app = new Elysia()
      .decorate('mine', { name: 'nobody' })
      .onRequest((elysia) => {
        elysia.mine = { name: elysia.request.headers.get('x-name') ?? '' }
      })
      .onError({ as: 'global' }, async ({ mine, code }) => {
        await release.promise
        return new Response(`${code} ${mine.name}`)
      })
      .use(
        new Elysia()
          .decorate('mine', { name: 'nobody' })
          .get('/known/:id', async ({ mine, params }) => {
            await release.promise
            return new Response(`${params.id} ${mine.name}`)
          })
          .get('/broken', () => {
            throw new Error('broken')
          }),
      )
    const calls = ['a', 'b', 'c'].flatMap((name) => [
      { name, path: '/known/7', method: 'GET', said: `7 ${name}` },
      { name, path: '/broken', method: 'GET', said: `UNKNOWN ${name}` },
      { name, path: '/unknown', method: 'GET', said: `NOT_FOUND ${name}` },
      { name, path: '/known/7', method: 'PUT', said: `NOT_FOUND ${name}` },
    ])
    const answers = calls.map(({ name, path, method }) =>
      app.handle(request(path, { method, headers: { 'x-name': name } })),
    )
    release.resolve()
    const texts = await Promise.all(answers.map(async (answer) => (await answer).text()))
    expect(texts).toEqual(calls.map(({ said }) => said))
  })
})
