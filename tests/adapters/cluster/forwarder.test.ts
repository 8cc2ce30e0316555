import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { withWholeBody } from '../../../server/core/cluster/whole-body'
import { openHopPair, rawRequest, WAYS } from '../../support/cluster/hop-pair'
import { openTcpProxy } from '../../support/servers/tcp-proxy'
import { readUntil, until } from '../../support/until'

const text = (value: string) => new TextEncoder().encode(value)
let nodes: ReturnType<typeof openHopPair>
afterEach(() => nodes.close())
const get = (path = '/', init: RequestInit = {}) => fetch(nodes.url + path, { ...init, redirect: 'manual' })

/** Issue 23: any node takes any request, and forwards it to the owner. */
describe.each(WAYS)('what passes through a hop by %s', (way) => {
  beforeEach(async () => {
    nodes = openHopPair({}, way)
    await nodes.warm()
  })
  test('method, path, query, body and headers reach the owner as the caller sent them', async () => {
    const sent = {
      ...{ authorization: 'Bearer gwk_1', 'idempotency-key': 'order-1', 'payment-signature': 'x'.repeat(6000) },
      ...{
        'x-payment': 'eyJ4IjoxfQ==',
        cookie: 'a=1; b=2',
        'x-forwarded-for': '198.51.100.1',
        'content-type': 'application/json',
      },
      ...{
        'accept-encoding': 'br, gzip',
        'user-agent': 'caf\u00e9',
        'x-request-id': 'order-1:images',
        expect: '100-continue',
      },
    }
    nodes.answer = async (request, hop) => {
      const { pathname, search } = new URL(request.url)
      const { 'x-gateway-hop': _, ...headers } = Object.fromEntries(request.headers)
      return Response.json({ method: request.method, pathname, search, body: await request.text(), headers, hop })
    }
    const path = '/v1/a%20b//c?q=%C3%A9&x[]=1|2&empty='
    const answer = await get(path, { method: 'PUT', headers: sent, body: '{"a":1}' })
    const { expect: _, ...arrives } = { ...sent, host: new URL(nodes.url).host, 'content-length': '7', accept: '*/*' }
    expect(await answer.json()).toEqual({
      ...{
        method: 'PUT',
        pathname: '/v1/a%20b//c',
        search: '?q=%C3%A9&x[]=1|2&empty=',
        body: '{"a":1}',
        headers: arrives,
      },
      hop: { cell: 'main', address: '203.0.113.7', requestId: 'req_1', term: 7 },
    })
  })

  test('status, headers and encoded bytes of the response reach the caller as the owner sent them', async () => {
    const packed = Bun.gzipSync(text('a'.repeat(5000)))
    const bodies: Record<string, () => Response> = {
      '/200': () =>
        new Response(packed, {
          headers: { 'content-encoding': 'gzip', 'x-cost-micros-usd': '12', 'x-latin': 'caf\u00e9' },
        }),
      '/cookies': () =>
        new Response('x', {
          headers: [
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2; Path=/'],
          ],
        }),
      '/402': () =>
        Response.json({ price: 1 }, { status: 402, headers: { 'www-authenticate': 'Payment id="1", Payment id="2"' } }),
      '/302': () => new Response(null, { status: 302, headers: { location: '/elsewhere' } }),
      '/304': () => new Response(null, { status: 304, headers: { etag: 'W/"1"' } }),
      '/204': () => new Response(null, { status: 204 }),
      '/421': () => new Response('an upstream said so', { status: 421 }),
      '/500': () => new Response('', { status: 500 }),
      '/large-head': () => new Response('x', { headers: { 'x-large': 'y'.repeat(100_000) } }),
      '/large': () => new Response('z'.repeat(3_000_000), { headers: { 'content-type': 'text/plain' } }),
    }
    nodes.answer = ({ url }) => bodies[new URL(url).pathname]?.() ?? new Response('?', { status: 404 })
    for (const [path, direct] of Object.entries(bodies)) {
      const answer = await get(path, { decompress: false } as RequestInit)
      const wanted = direct()
      expect([path, answer.status]).toEqual([path, wanted.status])
      expect(new Uint8Array(await answer.arrayBuffer())).toEqual(new Uint8Array(await wanted.arrayBuffer()))
      for (const [name, value] of wanted.headers)
        if (name !== 'set-cookie') expect([path, name, answer.headers.get(name)]).toEqual([path, name, value])
      expect(answer.headers.getSetCookie()).toEqual(wanted.headers.getSetCookie())
    }
    expect(nodes.asked).toBe(0)
  })

  test('a response of 15 to 64 KB is passed on as one direct stream, else Bun sends each part of each header alone', async () => {
    nodes.answer = ({ url }) => {
      const body = 'x'.repeat(Number(new URL(url).pathname.slice(1)))
      return withWholeBody(new Response(body), body)
    }
    const framing: unknown[] = []
    for (const length of [2_000, 20_000, 64_000]) {
      const answer = await get(`/${length}`)
      const { headers } = answer
      framing.push([headers.get('content-length'), headers.get('transfer-encoding'), (await answer.text()).length])
    }
    expect(framing).toEqual([
      ['2000', null, 2_000],
      [null, 'chunked', 20_000],
      [null, 'chunked', 64_000],
    ])
  })

  test('a HEAD has the headers and the length of a GET, and no body', async () => {
    nodes.answer = () => new Response(null, { headers: { 'content-length': '1234', 'content-type': 'image/png' } })
    const answer = await get('/picture', { method: 'HEAD' })
    expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '1234', ''])
    expect((await get()).status).toBe(200)
  })

  test('each event of a stream arrives before the next one is sent', async () => {
    const seen = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
    nodes.answer = () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            for (const [at, { promise }] of seen.entries()) {
              controller.enqueue(text(`data: ${at}\n\n`))
              await promise
            }
            controller.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      )
    const answer = await get('/events')
    const reader = answer.body?.getReader()
    for (const [at, { resolve }] of seen.entries()) {
      await readUntil(reader, (part) => part.includes(`data: ${at}`))
      resolve()
    }
    expect((await reader?.read())?.done).toBe(true)
    // While it waits for events, and no longer when it only has to read the rest.
    expect(nodes.silences).toEqual([true, false])
  })

  test('a response that arrives in pieces of any size is the same', async () => {
    const wire = await openTcpProxy(nodes.ownerPort)
    nodes.peer = { ...nodes.peer, url: wire.url }
    nodes.answer = ({ url }) => {
      const parts = ['one', 'two', 'three '.repeat(20)]
      if (url.endsWith('/whole')) return new Response(parts.join(''), { headers: { 'x-a': 'b' } })
      return new Response(
        (async function* () {
          for (const part of parts) {
            yield text(part)
            await Bun.sleep(1)
          }
        })() as unknown as ReadableStream,
      )
    }
    for (const size of [1, 2, 3, 7, 64]) {
      wire.splitInto(size)
      for (const path of ['/whole', '/stream'])
        expect(await (await get(path)).text()).toBe(`onetwo${'three '.repeat(20)}`)
    }
    await wire.close()
  })

  test('120 MB pass up and down, whole, and no faster than they are taken', async () => {
    const part = new Uint8Array(500_000).map((_, i) => i % 251)
    const parts = 240
    // The kernel alone may keep 36 MB of each of the two connections (tcp_rmem, tcp_wmem).
    const maxAhead = 180
    const hash = new Bun.CryptoHasher('sha256')
    for (let i = 0; i < parts; i++) hash.update(part)
    const wanted = hash.digest('hex')
    const released = Promise.withResolvers<void>()
    let produced = 0
    const source = () =>
      new ReadableStream({
        pull(controller) {
          if (produced++ === parts) return controller.close()
          controller.enqueue(part)
        },
      })
    const digest = async (body: ReadableStream<Uint8Array> | null) => {
      const seen = new Bun.CryptoHasher('sha256')
      for await (const bytes of body ?? []) seen.update(bytes)
      return seen.digest('hex')
    }
    nodes.answer = async (request) => {
      if (request.method === 'GET') return new Response(source())
      await released.promise
      return new Response(await digest(request.body))
    }
    const upload = get('/up', { method: 'POST', body: source(), duplex: 'half' } as RequestInit)
    await until(() => nodes.handled === 1)
    const ahead = await settled(() => produced)
    released.resolve()
    expect(await (await upload).text()).toBe(wanted)
    produced = 0
    const download = await get('/down')
    const aheadDown = await settled(() => produced)
    expect(await digest(download.body)).toBe(wanted)
    expect([ahead < maxAhead, aheadDown < maxAhead]).toEqual([true, true])
  })

  test('more requests than fetch could run at once are all with the owner at the same time', async () => {
    const all = Promise.withResolvers<void>()
    let waiting = 0
    nodes.answer = async () => {
      if (++waiting === 400) all.resolve()
      await all.promise
      return new Response('ok')
    }
    const sockets = await Promise.all(
      Array.from({ length: 400 }, () =>
        rawRequest(nodes.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
      ),
    )
    expect(sockets.filter((answer) => answer.startsWith('HTTP/1.1 200')).length).toBe(400)
  })
})

/** The value once it no longer changes. */
async function settled(look: () => number): Promise<number> {
  let same = 0
  let last = look()
  await until(() => {
    same = look() === last ? same + 1 : 0
    last = look()
    return same === 50
  })
  return last
}
