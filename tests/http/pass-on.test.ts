import { afterEach, describe, expect, test } from 'bun:test'
import { formatAddress } from '../../server/core/credentials/address'
import { fromWorkers, PASSED_ON_HEADER } from '../../server/http/middleware/caller/passed-on'
import { RequestContext } from '../../server/http/middleware/request-context'
import { PassOn } from '../../server/http/pass-on'
import { slowReader, UNREAD_BYTES } from '../support/slow-reader'
import { until } from '../support/until'

const TOKEN = 'token-of-a-session'
const servers: Bun.Server<undefined>[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
})

type Handle = (request: Request) => Response | Promise<Response>

function serve(fetch: (request: Request, server: Bun.Server<undefined>) => Response | Promise<Response>) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch,
    error: () => new Response('broken', { status: 500 }),
  })
  servers.push(server)
  return server
}

/** A primary that answers by `handle`, and a worker that passes all on to it. */
function pair(handle: Handle, most?: { requests: number; eventStreams: number }) {
  const primary = serve(fromWorkers((token) => token === TOKEN, Date.now, handle))
  let isAway = false
  const passOn = new PassOn({
    ca: null,
    target: () => (isAway ? null : { origin: `http://127.0.0.1:${primary.port}`, token: TOKEN }),
    now: Date.now,
    ...(most && { most }),
  })
  const worker = serve((request, server) => passOn.answer(request, server))
  return {
    primary,
    url: `http://127.0.0.1:${worker.port}`,
    goAway: () => {
      isAway = true
    },
  }
}

/** All that a raw request gets before the connection closes. */
async function raw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const closed = Promise.withResolvers<string>()
  let got = ''
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (socket) => void socket.write(text),
      data(_socket, chunk) {
        got += chunk.toString('latin1')
      },
      close: () => closed.resolve(got),
    },
  })
  return closed.promise
}

const echo: Handle = async (request) =>
  Response.json({
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    body: request.body ? await request.text() : null,
  })

/** A stream of one event, which ends when it is told to. */
function eventsUntil(end: Promise<void>): Response {
  let isBegun = false
  const body = new ReadableStream({
    async pull(controller) {
      if (!isBegun) controller.enqueue('data: 1\n\n')
      else await end.then(() => controller.close())
      isBegun = true
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

interface Echo {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

const echoed = async (url: string, init?: RequestInit) => (await (await fetch(url, init)).json()) as Echo

describe('a request that is passed on', () => {
  test('arrives as it was sent, without what belongs to its connection', async () => {
    const { url } = pair(echo)
    const sent = await echoed(`${url}/api/keys%2F1?a=b%20c`, {
      method: 'PATCH',
      headers: { host: 'api.example.com', 'x-mine': 'yes', connection: 'x-hop', 'x-hop': 'no', te: 'trailers' },
      body: 'hello',
    })
    expect(sent).toMatchObject({ method: 'PATCH', url: 'http://api.example.com/api/keys%2F1?a=b%20c', body: 'hello' })
    expect(sent.headers).toMatchObject({ host: 'api.example.com', 'x-mine': 'yes', 'content-length': '5' })
    for (const name of ['x-hop', 'te', PASSED_ON_HEADER]) expect(sent.headers[name]).toBeUndefined()
  })

  test('has no header that Bun adds: its answer would be for another client', async () => {
    const { url } = pair(echo)
    const answer = await raw(url, 'GET /x HTTP/1.1\r\nhost: gw\r\nconnection: close\r\n\r\n')
    const { headers } = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)) as Echo
    expect(headers).toEqual({ host: 'gw', connection: 'keep-alive' })
  })

  test('of HTTP/1.0 without a Host names no machine', async () => {
    const { url } = pair(echo)
    const answer = await raw(url, 'GET /x?y=1 HTTP/1.0\r\n\r\n')
    expect(answer).toContain('http://no-host.invalid/x?y=1')
  })

  test('with a Host that is none is refused by the primary, as by one process', async () => {
    let seen = ''
    const { url } = pair((request) => {
      seen = request.headers.get('host') ?? ''
      return new Response('bad host', { status: 400 })
    })
    expect(await raw(url, 'GET /x HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n')).toContain('bad host')
    expect(seen).toBe('a b')
  })

  test('streams its body, and hangs up with its caller', async () => {
    let text = ''
    let hungUp = 0
    const { url } = pair(async (request) => {
      request.signal.addEventListener('abort', () => hungUp++)
      const decoder = new TextDecoder()
      for await (const part of request.body ?? []) text += decoder.decode(part)
      return new Response(text)
    })
    const { hostname, port } = new URL(url)
    for (const length of ['content-length: 100', 'transfer-encoding: chunked']) {
      const before = hungUp
      text = ''
      const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => undefined } })
      socket.write(`POST /x HTTP/1.1\r\nhost: gw\r\n${length}\r\n\r\n`)
      socket.write(length.startsWith('content') ? 'abc' : '3\r\nabc\r\n')
      await until(() => text === 'abc')
      socket.terminate()
      await until(() => hungUp === before + 1)
    }
  })
})

describe('an answer that is passed back', () => {
  test('has its status, headers, cookies and bytes as they are', async () => {
    const packed = Bun.gzipSync(Buffer.from('hello '.repeat(1000)))
    const { url } = pair(({ url: at }) => {
      const headers = new Headers({ 'x-mine': 'yes', 'content-encoding': 'gzip', 'content-type': 'text/plain' })
      headers.append('set-cookie', 'a=1')
      headers.append('set-cookie', 'b=2')
      if (at.endsWith('/packed')) return new Response(packed, { status: 201, headers })
      if (at.endsWith('/moved')) return new Response(null, { status: 302, headers: { location: '/elsewhere' } })
      if (at.endsWith('/same')) return new Response(null, { status: 304, headers: { etag: '"x"' } })
      return new Response(null, { status: 204 })
    })
    const answer = await fetch(`${url}/packed`, {
      headers: { 'accept-encoding': 'gzip' },
      decompress: false,
    } as RequestInit)
    expect(answer.status).toBe(201)
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(answer.headers.get('x-mine')).toBe('yes')
    expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(packed))).toBe(true)
    const moved = await fetch(`${url}/moved`, { redirect: 'manual' })
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/elsewhere'])
    const same = await fetch(`${url}/same`)
    expect([same.status, same.headers.get('etag')]).toEqual([304, '"x"'])
    expect((await fetch(`${url}/none`)).status).toBe(204)
    expect((await fetch(`${url}/packed`, { method: 'HEAD' })).status).toBe(201)
  })

  test('streams piece by piece, and is cut where the primary cuts it', async () => {
    const { url, primary } = pair(() => eventsUntil(new Promise(() => undefined)))
    const answer = await fetch(`${url}/events`)
    const reader = answer.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n')
    void primary.stop(true)
    await expect(reader?.read() ?? Promise.resolve()).rejects.toThrow()
  })

  test('is not read faster than its caller reads it, and ends when the caller hangs up', async () => {
    let sent = 0
    let cancelled = 0
    const { url } = pair(
      () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              sent += 65_536
              controller.enqueue(new Uint8Array(65_536))
            },
            cancel: () => void cancelled++,
          }),
        ),
    )
    const reader = new AbortController()
    const answer = await fetch(url, { signal: reader.signal })
    const body = answer.body?.getReader()
    await body?.read()
    let last = -1
    await until(() => {
      const isStill = sent === last
      last = sent
      return isStill && sent > 0
    })
    expect(sent).toBeLessThan(3 * UNREAD_BYTES)
    reader.abort()
    await until(() => cancelled === 1)
    const slow = await slowReader(url, '/x', { headers: {} })
    const before = sent
    await until(() => sent > before)
    expect(slow.came()).toBe(0)
  })

  test('closes the connection where the primary does, which did not read the rest', async () => {
    const { url } = pair(() => new Response('too large', { status: 413, headers: { connection: 'close' } }))
    const answer = await raw(url, `POST /x HTTP/1.1\r\nhost: gw\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(1000)}`)
    expect(answer).toStartWith('HTTP/1.1 413')
    expect(answer.toLowerCase()).toContain('connection: close')
  })
})

describe('without a primary', () => {
  test('a request is refused in the one error shape, uncharged', async () => {
    const { url, primary, goAway } = pair(echo)
    await primary.stop(true)
    for (const away of [() => undefined, goAway]) {
      away()
      const answer = await fetch(`${url}/v1/messages`, {
        method: 'POST',
        body: '{}',
        headers: { 'x-request-id': 'mine' },
      })
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('x-request-id')).toBe('mine')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(await answer.json()).toEqual({
        type: 'error',
        error: {
          type: 'api_error',
          code: 'service_unavailable',
          message: 'The gateway is restarting. Try again. You were not charged.',
          request_id: answer.headers.get('x-gateway-request-id'),
          retry_after: 1,
        },
      })
    }
  })

  test('one that was on its way has an unknown outcome, unless it only reads', async () => {
    const { url, primary } = pair(async () => {
      void primary.stop(true)
      await new Promise(() => undefined)
      return new Response()
    })
    const answer = await fetch(`${url}/api/keys`, { method: 'POST', body: '{}' })
    expect(answer.status).toBe(409)
    expect(answer.headers.get('x-should-retry')).toBe('false')
    const { error } = (await answer.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('outcome_unknown')
    expect(error.message).not.toContain('charged')
    const other = pair(async () => {
      void other.primary.stop(true)
      await new Promise(() => undefined)
      return new Response()
    })
    const read = await fetch(`${other.url}/api/keys`)
    expect(read.status).toBe(503)
    expect(await read.text()).not.toContain('charged')
  })
})

test('requests and streams of events have places of their own, and get them back at their end', async () => {
  const ends: (() => void)[] = []
  const { url } = pair(
    ({ url: at }) => {
      if (at.endsWith('/quick')) return new Response()
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      if (at.endsWith('/slow')) return promise.then(() => new Response('done'))
      return eventsUntil(promise)
    },
    { requests: 2, eventStreams: 2 },
  )
  const events = { headers: { accept: 'text/event-stream' } }
  const slow = [fetch(`${url}/slow`), fetch(`${url}/slow`)]
  await until(() => ends.length === 2)
  const refused = await fetch(`${url}/slow`)
  expect(refused.status).toBe(503)
  expect(await refused.text()).toContain('You were not charged.')
  const streams = [await fetch(`${url}/events`, events), await fetch(`${url}/events`, events)]
  expect((await fetch(`${url}/events`, events)).status).toBe(503)
  for (const end of ends.splice(0)) end()
  for (const one of slow) expect(await (await one).text()).toBe('done')
  for (const one of streams) expect(await one.text()).toBe('data: 1\n\n')
  // A stream that was not announced as one leaves the places of requests to others.
  const unannounced = [await fetch(`${url}/events`), await fetch(`${url}/events`)]
  const more = [await fetch(`${url}/events`), await fetch(`${url}/events`)]
  // No places are left for streams, so these two keep those of requests.
  expect((await fetch(`${url}/slow`)).status).toBe(503)
  const hangUps = [...unannounced, ...more].map((one) => one.body?.cancel())
  await Promise.all(hangUps)
  await until(async () => (await fetch(`${url}/quick`)).status === 200)
})

describe('the address of a caller that was passed on', () => {
  const address = (request: Request, server: Bun.Server<undefined>) => {
    const context = new RequestContext(request, server, {
      clock: { now: () => 0 },
      intake: {} as never,
      addressOf: (socket) => socket,
    })
    return Response.json({
      address: formatAddress(context.address),
      isFromThisMachine: context.isFromThisMachine,
      header: request.headers.get(PASSED_ON_HEADER),
    })
  }
  const primary = () => {
    const server = serve((request) =>
      fromWorkers(
        (token) => token === TOKEN,
        Date.now,
        (one) => address(one, server),
      )(request),
    )
    return `http://127.0.0.1:${server.port}`
  }

  test('is believed with the token of a session only, which nothing behind it sees', async () => {
    const url = primary()
    const from = async (value: string) => fetch(url, { headers: { [PASSED_ON_HEADER]: value } })
    expect(await (await from(`${TOKEN} 203.0.113.7`)).json()).toEqual({
      address: '203.0.113.7',
      isFromThisMachine: false,
      header: null,
    })
    expect(await (await from(`${TOKEN} 2001:db8::1`)).json()).toMatchObject({ address: '2001:db8::1' })
    expect(await (await from(`${TOKEN} 127.0.0.1`)).json()).toMatchObject({ isFromThisMachine: true })
    // Never that of the worker's own connection.
    for (const nothing of ['unknown', '127.0.0.1 127.0.0.1'])
      expect(await (await from(`${TOKEN} ${nothing}`)).json()).toMatchObject({
        address: 'unknown',
        isFromThisMachine: false,
      })
    for (const forged of ['', TOKEN, 'other 203.0.113.7', ' 203.0.113.7', `${TOKEN}x 203.0.113.7`]) {
      const answer = await from(forged)
      expect([forged, answer.status]).toEqual([forged, 403])
      expect(await answer.json()).toMatchObject({
        error: { code: 'insufficient_permissions', request_id: expect.any(String) },
      })
    }
  })

  test('is that of its own connection, whatever the caller says of it', async () => {
    let seen: string | null = null
    const inner = serve((request) => {
      seen = request.headers.get(PASSED_ON_HEADER)
      return new Response()
    })
    const passOn = new PassOn({
      ca: null,
      target: () => ({ origin: `http://127.0.0.1:${inner.port}`, token: TOKEN }),
      now: Date.now,
    })
    const worker = serve((request, server) => passOn.answer(request, server))
    await fetch(`http://127.0.0.1:${worker.port}`, { headers: { [PASSED_ON_HEADER]: `${TOKEN} 203.0.113.7` } })
    expect(String(seen)).toBe(`${TOKEN} 127.0.0.1`)
  })
})
