import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { FRAME, FrameWriter, nextId, readFrames } from '../../../server/adapters/cluster/link-frames'
import { OutgoingLink } from '../../../server/adapters/cluster/outgoing-link'
import { withWholeBody } from '../../../server/core/cluster/whole-body'
import { openHopPair, rawRequest } from '../../support/cluster/hop-pair'
import { openTcpProxy } from '../../support/servers/tcp-proxy'
import { readUntil, until } from '../../support/until'

const text = (value: string) => new TextEncoder().encode(value)
let nodes: ReturnType<typeof openHopPair>
beforeEach(async () => {
  nodes = openHopPair({}, 'a link')
  await nodes.warm()
})
afterEach(() => nodes.close())
const get = (path = '/', init: RequestInit = {}) => fetch(nodes.url + path, init)

const statusAndBody = (answer: string) => [answer.split('\r\n')[0], answer.split('\r\n\r\n')[1]]

/** Issue 23: two nodes with a cell each do nearly twice what one does, also if callers reach any node (ADR 57). */
describe('a link between two nodes', () => {
  test('carries requests with and without a small body; a large body and a HEAD have a connection of their own', async () => {
    nodes.answer = async (request) => new Response(`${(await request.bytes()).byteLength}`)
    const answers = [
      await get(),
      await get('/', { method: 'POST', body: 'x'.repeat(64 * 1024) }),
      await get('/', { method: 'DELETE' }),
    ]
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(['0', '65536', '0'])
    expect([nodes.handled, nodes.linked]).toEqual([3, 3])
    expect(await (await get('/', { method: 'POST', body: 'x'.repeat(64 * 1024 + 1) })).text()).toBe('65537')
    expect((await get('/', { method: 'HEAD' })).status).toBe(200)
    expect([nodes.handled, nodes.linked]).toEqual([5, 3])
  })

  test('a caller who hangs up ends nothing but its own call', async () => {
    const left = Promise.withResolvers<void>()
    const others = Promise.withResolvers<void>()
    nodes.answer = async ({ url, signal }) => {
      if (url.endsWith('/left')) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      else await others.promise
      if (url.endsWith('/left')) left.resolve()
      return new Response('served')
    }
    const leaving = new AbortController()
    const gone = get('/left', { signal: leaving.signal }).catch(() => 'left')
    const staying = Array.from({ length: 5 }, () => get('/stays'))
    await until(() => nodes.linked === 6)
    leaving.abort()
    await left.promise
    others.resolve()
    expect(await gone).toBe('left')
    const served = await Promise.all((await Promise.all(staying)).map((answer) => answer.text()))
    expect([served, nodes.missing.map(({ reason }) => reason)]).toEqual([
      Array(5).fill('served'),
      ['the caller has hung up'],
    ])
  })

  test('a stream that nobody reads holds neither the memory of the nodes nor the other calls', async () => {
    let made = 0
    nodes.answer = ({ url }) =>
      url.endsWith('/small')
        ? new Response('served')
        : new Response(
            new ReadableStream({
              pull(controller) {
                made += 64_000
                controller.enqueue(new Uint8Array(64_000))
              },
            }),
          )
    const caller = await Bun.connect({
      hostname: '127.0.0.1',
      port: nodes.port,
      socket: {
        open(socket) {
          socket.write('GET /large HTTP/1.1\r\nHost: a.test\r\n\r\n')
          socket.pause()
        },
        data: () => undefined,
      },
    })
    // Until the socket's buffers, the first node's room and the window are full.
    let before = -1
    await until(async () => {
      const isFull = made > 0 && made === before
      before = made
      for (let i = 0; i < 20; i++) expect(await (await get('/small')).text()).toBe('served')
      return isFull
    })
    expect(made).toBeLessThan(16_000_000)
    caller.terminate()
    await nodes.forwarder.ended(10_000)
  })

  test('many large responses at once are whole, though the link takes only some of them at a time', async () => {
    nodes.answer = ({ url }) => new Response(new Uint8Array(1_000_000).fill(Number(url.slice(-2))))
    const answers = await Promise.all(
      Array.from({ length: 80 }, async (_, at) => {
        const bytes = await (await get(`/${10 + at}`)).bytes()
        return bytes.byteLength === 1_000_000 && bytes.every((byte) => byte === 10 + at)
      }),
    )
    expect([answers, nodes.linked]).toEqual([Array(80).fill(true), 80])
  })

  test('a response whose body is known is sent as that, of any size, and its stream is not read', async () => {
    const body = 'ü'.repeat(300_000)
    const unread = () =>
      new ReadableStream({ pull: () => Promise.reject(new Error('it was read')) }, { highWaterMark: 0 })
    nodes.answer = ({ url }) =>
      withWholeBody(new Response(unread(), { status: 201 }), url.endsWith('/none') ? '' : body)
    const answers = await Promise.all([get('/'), get('/none'), get('/')])
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual([body, '', body])
  })

  test('responses that go out together are passed on whole, though they do not fit into one message', async () => {
    const all = Promise.withResolvers<void>()
    const body = 'x'.repeat(3_000)
    nodes.answer = async () => {
      await all.promise
      return withWholeBody(new Response(body), body)
    }
    const waiting = Array.from({ length: 200 }, () => get())
    await until(() => nodes.handled === 200)
    all.resolve()
    const answers = await Promise.all(waiting)
    // A stream has no length.
    expect(answers.map(({ headers }) => headers.get('content-length'))).toEqual(Array(200).fill('3000'))
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(Array(200).fill(body))
  })

  test('an owner that stops answers what it was sent, and gets nothing more until it is started again', async () => {
    const slow = Promise.withResolvers<void>()
    nodes.answer = async ({ url }) => {
      if (url.endsWith('/slow')) await slow.promise
      return new Response('served')
    }
    const waiting = get('/slow')
    await until(() => nodes.linked === 1)
    const ended = nodes.links.ended(10_000)
    await until(async () => (await get()).status === 503)
    // Not over the connection that the first request left open either.
    const { handled } = nodes
    expect([(await get('/', { method: 'HEAD' })).status, nodes.handled]).toEqual([503, handled])
    expect(new Set(nodes.missing.map(({ outcome, reason }) => `${outcome}: ${reason}`))).toEqual(
      new Set(['did not run: it stops']),
    )
    slow.resolve()
    await ended
    expect(await (await waiting).text()).toBe('served')
    nodes.found = { ...nodes.peer, nodeId: 'started again' }
    expect(await (await get()).text()).toBe('served')
  })

  test('the link of an owner that stops closes last, so that its port is open for all that it was sent', async () => {
    const slow = Promise.withResolvers<void>()
    nodes.answer = async ({ url }) => {
      if (url.endsWith('/slow')) await slow.promise
      return new Response('served')
    }
    const waiting = get('/slow', { method: 'HEAD' })
    await until(() => nodes.handled === 1)
    let isEnded = false
    const ended = nodes.links.ended(10_000).then(() => {
      isEnded = true
    })
    await until(async () => (await get()).status === 503)
    // A round between the nodes takes less than this one.
    await Promise.all([get(), fetch(nodes.peer.url)])
    expect([nodes.linked < nodes.handled, isEnded]).toEqual([true, false])
    slow.resolve()
    await ended
    expect((await waiting).status).toBe(200)
  })

  test('a call that does not fit into a message counts as sent only once it goes out itself', async () => {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      websocket: { message: () => undefined },
      fetch: (request, itself) => new Response(null, { status: itself.upgrade(request) ? 200 : 426 }),
    })
    const ignore = () => undefined
    const owner = { heard: ignore, left: ignore, closed: ignore, isNeeded: () => true }
    const link = await OutgoingLink.open(server.url, '', owner, 5_000)
    const sent: boolean[] = []
    const exchange = { head: ignore, body: ignore, end: ignore, cut: (_: string, was: boolean) => void sent.push(was) }
    // The first two go out at once; four of the others fill a message.
    for (let i = 0; i < 7; i++) link.newCall().begin(exchange, '', new Uint8Array(64 * 1024))
    link.ended('the connection broke')
    expect(sent).toEqual([true, true, true, true, true, true, false])
    await server.stop(true)
  })

  test('a node that does not own answers 421 on it, and the request goes to whoever owns then', async () => {
    nodes.found = { ...nodes.peer, term: 8 }
    nodes.ownTerm = 8
    expect(await (await get('/', { method: 'POST', body: 'once' })).text()).toBe('ok')
    expect([nodes.asked, nodes.handled, nodes.linked]).toEqual([1, 1, 1])
  })

  test('when it breaks, a stream does not look complete, and later requests are served', async () => {
    const wire = await openTcpProxy(nodes.ownerPort)
    nodes.peer = { ...nodes.peer, url: wire.url }
    await nodes.warm()
    nodes.answer = ({ url }) =>
      url.endsWith('/stream')
        ? new Response(new ReadableStream({ start: (controller) => controller.enqueue(text('part')) }))
        : new Response('served')
    const reader = (await get('/stream')).body?.getReader()
    await readUntil(reader, (part) => part === 'part')
    expect(nodes.linked).toBe(1)
    wire.cut()
    const rest = reader?.read().then(
      () => 'complete',
      () => 'broken',
    )
    expect(await rest).toBe('broken')
    expect(await (await get()).text()).toBe('served')
    await wire.close()
  })

  test('a handler that fails leaves a 503 of unknown outcome to its own caller', async () => {
    nodes.answer = ({ url }) => {
      if (url.endsWith('/fails')) throw new Error('broken')
      return new Response('served')
    }
    expect((await get('/fails')).status).toBe(503)
    expect(nodes.missing.map(({ outcome }) => outcome)).toEqual(['unknown'])
    expect([await (await get()).text(), nodes.linked]).toEqual(['served', 2])
  })

  test('any method, header, path and host reaches the owner as by HTTP, and ends no call of others', async () => {
    const http = openHopPair({})
    const slow = Promise.withResolvers<void>()
    nodes.answer = async ({ method, url, headers }) => {
      if (url.endsWith('/slow')) await slow.promise
      return new Response(`${method} ${url} ${headers.get('x-odd')}`)
    }
    http.answer = nodes.answer
    const waiting = get('/slow')
    await until(() => nodes.linked === 1)
    const heads = [
      ...['TRACE / HTTP/1.1', 'PROPFIND / HTTP/1.1', 'OPTIONS * HTTP/1.1', 'CONNECT a:1 HTTP/1.1', 'get / HTTP/1.1'],
      ...['GET /%zz/../a\\b?q={|}^`"<>#c HTTP/1.1', 'GET http://b.test/x HTTP/1.1', 'GET //evil.test/ HTTP/1.1'],
      ...Array.from({ length: 255 }, (_, code) => `GET / HTTP/1.1\r\nX-Odd: a${String.fromCharCode(code + 1)}b`),
      ...['a b', '[::1]:80', '[::1', '1.2.3.999', 'x:99999', 'é', 'a@b', '', '?', 'A.TEST:80'].map(
        (host) => `GET /host HTTP/1.1\r\nHost: ${host}`,
      ),
    ]
    for (const head of heads) {
      const host = head.includes('\r\nHost:') ? '' : 'Host: a.test\r\n'
      const bytes = `${head}\r\n${host}Connection: close\r\n\r\n`
      const [linked, wanted] = await Promise.all([rawRequest(nodes.port, bytes), rawRequest(http.port, bytes)])
      expect([head, statusAndBody(linked)]).toEqual([head, statusAndBody(wanted)])
    }
    slow.resolve()
    expect([(await waiting).status, nodes.missing]).toEqual([200, []])
    expect(nodes.linked).toBeGreaterThan(200)
    await http.close()
  })

  test('only a node opens one: a request without a freshly signed header is refused', async () => {
    const hop = (address: string, age = 0) =>
      nodes.signer.sign(
        { method: 'GET', target: '/internal/link/2', cell: 'main', term: 7, address, requestId: 'req_1' },
        Date.now() - age,
      )
    const status = async (headers: Record<string, string>) => {
      const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
      const key = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
      const url = `http://127.0.0.1:${nodes.ownerPort}/internal/link/2`
      return (await fetch(url, { headers: { ...upgrade, ...key, ...headers } })).status
    }
    nodes.opened = 0
    const once = hop('operator')
    expect(await status({})).toBe(400)
    for (const header of ['x', hop('operator', 6_000), `${hop('operator')}0`])
      expect(await status({ 'x-gateway-hop': header })).toBe(421)
    expect(await status({ 'x-gateway-hop': once })).toBe(101)
    // Nor is it good twice.
    expect(await status({ 'x-gateway-hop': once })).toBe(421)
    expect(nodes.opened).toBe(1)
  })
})

describe('a node without links, as an older version is, or one behind a proxy that passes no upgrade', () => {
  test('gets each request on a connection of its own, and is asked for a link once, not for each request', async () => {
    const older = openHopPair({})
    for (let i = 0; i < 20; i++) expect(await (await fetch(older.url)).text()).toBe('ok')
    expect([older.handled, older.linked, older.opened]).toEqual([20, 0, 1])
    await older.close()
  })
})

describe('the frames of a link', () => {
  test('are read as they were written, many to a message, with any text and bytes', async () => {
    const messages: Buffer<ArrayBuffer>[] = []
    const writer = new FrameWriter((message) => messages.push(Buffer.from(message)))
    const frames = Array.from({ length: 300 }, (_, id) => ({
      ...{ kind: id % 2 === 0 ? FRAME.head : FRAME.part, id },
      text: 'caf\u00e9 \u{1f600} '.repeat(id % 7),
      bytes: Buffer.alloc((id * 977) % 5000, id),
    }))
    for (const { kind, id, text, bytes } of frames) writer.add(kind, id, text, bytes)
    await until(() => messages.length > 0)
    writer.flush()
    const read: unknown[] = []
    for (const message of messages) readFrames(message, (frame) => read.push(frame))
    expect(read).toEqual(frames)
    expect(messages.length).toBeLessThan(5)
  })

  test('wait for others of the same turn, unless one is urgent and none waits', async () => {
    const messages: number[][] = []
    const writer = new FrameWriter((message) => {
      const ids: number[] = []
      readFrames(Buffer.from(message), ({ id }) => ids.push(id))
      messages.push(ids)
    })
    const add = (id: number, isUrgent: boolean) => writer.add(FRAME.call, id, '', undefined, isUrgent)
    add(1, true)
    expect(messages).toEqual([[1]])
    add(2, false)
    add(3, true)
    expect(messages).toEqual([[1]])
    await until(() => messages.length > 1)
    writer.wait()
    add(4, true)
    await until(() => messages.length > 2)
    add(5, true)
    expect(messages).toEqual([[1], [2, 3], [4], [5]])
  })

  test('have numbers of four bytes, none of a call that still runs', () => {
    const running = new Set([1, 2, 0xffff_ffff])
    const next = (last: number) => nextId(last, (id) => running.has(id))
    expect([next(0), next(7), next(0xffff_fffd), next(0xffff_fffe)]).toEqual([3, 8, 0xffff_fffe, 3])
    const writer = new FrameWriter((message) =>
      readFrames(Buffer.from(message), ({ id }) => expect(id).toBe(0xffff_ffff)),
    )
    writer.add(FRAME.end, 0xffff_ffff)
    writer.flush()
    expect.assertions(2)
  })

  test('of a message that is cut anywhere are refused', () => {
    let whole = Buffer.alloc(0)
    const writer = new FrameWriter((message) => (whole = Buffer.from(message)))
    writer.add(FRAME.call, 1, 'head', text('body'))
    writer.flush()
    for (let length = 1; length < whole.byteLength; length++)
      expect(() => readFrames(whole.subarray(0, length), () => undefined)).toThrow('within a frame')
  })
})
