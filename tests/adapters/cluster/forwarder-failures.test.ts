import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { OPERATOR } from '../../../server/core/cluster/hop'
import { openHopPair, rawRequest, WAYS } from '../../support/cluster/hop-pair'
import { freePort } from '../../support/servers/free-port'
import { openTcpProxy } from '../../support/servers/tcp-proxy'
import { readUntil, until } from '../../support/until'

const PEER_CONNECTION = join(import.meta.dir, '../../../server/adapters/cluster/peer-connection.ts')
const text = (value: string) => new TextEncoder().encode(value)
const gone = (request: Request) =>
  new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()))
let nodes: ReturnType<typeof openHopPair>
afterEach(() => nodes.close())
const get = (path = '/', init: RequestInit = {}) => fetch(nodes.url + path, { ...init, redirect: 'manual' })

/** Issue 23: no request is sent twice (ADR 39), and a caller is never left waiting. */
describe.each(WAYS)('when a hop fails, by %s', (way) => {
  beforeEach(async () => {
    nodes = openHopPair({}, way)
    await nodes.warm()
  })
  const missing = () => nodes.missing.map(({ outcome }) => outcome)

  test('an owner that cannot be reached is asked for once more, and the request goes to whoever owns then', async () => {
    const right = nodes.peer
    const wrong = { ...right, url: `http://127.0.0.1:${await freePort()}` }
    nodes.peer = wrong
    nodes.found = right
    nodes.answer = async (request) => new Response(`got ${await request.text()}`)
    expect(await (await get('/', { method: 'POST', body: 'once' })).text()).toBe('got once')
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(text('stream'))
        controller.close()
      },
    })
    expect(await (await get('/', { method: 'POST', body: stream, duplex: 'half' } as RequestInit)).text()).toBe(
      'got stream',
    )
    expect([nodes.asked, nodes.handled]).toEqual([2, 2])
    nodes.found = wrong
    const refused = await get('/', { method: 'POST', body: 'never' })
    expect([refused.status, refused.headers.get('retry-after'), nodes.asked, nodes.handled]).toEqual([503, '1', 3, 2])
    nodes.found = null
    expect((await get()).status).toBe(503)
    expect(missing()).toEqual(['did not run', 'did not run'])
  })

  test('what is for one node alone goes to no other, and waits for none', async () => {
    const call = { address: OPERATOR, requestId: 'req_1' }
    const ask = async (to: typeof nodes.peer, init: RequestInit = {}) =>
      (await nodes.forwarder.send(new Request('http://owner.internal/', { method: 'POST', ...init }), to, call))?.text()
    nodes.answer = async (request) => new Response(`got ${await request.text()}`)
    nodes.found = nodes.peer
    expect(await ask(nodes.peer)).toBe('got ')
    expect(await ask({ ...nodes.peer, url: `http://127.0.0.1:${await freePort()}` })).toBeUndefined()
    expect(await ask({ ...nodes.peer, term: 99 })).toBeUndefined()
    nodes.answer = gone as never
    expect(await ask(nodes.peer, { signal: AbortSignal.timeout(50) })).toBeUndefined()
    expect([nodes.asked, nodes.missing]).toEqual([0, []])
  })

  test('who hangs up while no owner is there waits no longer, and bodies that wait are bounded', async () => {
    const small = openHopPair({ maxWaitingBytes: 10_000 }, way)
    small.peer = { ...small.peer, url: `http://127.0.0.1:${await freePort()}` }
    let left = 0
    small.finding = async (signal) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      left++
      return null
    }
    const leaving = new AbortController()
    const post = (bytes: number, signal?: AbortSignal) =>
      fetch(small.url, { method: 'POST', body: 'x'.repeat(bytes), ...(signal && { signal }) })
    const waiting = [post(6_000, leaving.signal), post(4_000, leaving.signal)].map((sent) => sent.catch(() => 'left'))
    await until(() => small.asked === 2)
    expect([(await post(1)).status, small.asked]).toEqual([503, 2])
    leaving.abort()
    expect(await Promise.all(waiting)).toEqual(['left', 'left'])
    await until(() => left === 2)
    const again = new AbortController()
    const next = post(10_000, again.signal).catch(() => 'left')
    await until(() => small.asked === 3)
    again.abort()
    expect(await next).toBe('left')
    await small.close()
  })

  test('a node that does not own answers 421 before it reads the body; twice is a 503', async () => {
    const body = new Uint8Array(100_000)
    nodes.ownTerm = null
    const refused = await Promise.all([
      get(),
      get('/', { method: 'POST', body: 'small' }),
      get('/', { method: 'POST', body }),
    ])
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503])
    nodes.found = nodes.peer
    expect((await get('/', { method: 'POST', body })).status).toBe(503)
    nodes.ownTerm = 8
    expect([(await get()).status, nodes.handled]).toEqual([503, 0])
    nodes.found = { ...nodes.peer, term: 8 }
    nodes.answer = async (request) => new Response(`${(await request.bytes()).length}`)
    const served = await Promise.all([
      get(),
      get('/', { method: 'POST', body: 'small' }),
      get('/', { method: 'POST', body }),
    ])
    expect(await Promise.all(served.map((answer) => answer.text()))).toEqual(['0', '5', '100000'])
    expect([nodes.handled, missing().every((outcome) => outcome === 'did not run')]).toEqual([3, true])
  })

  test('a request that arrived is never sent again: the owner that dies leaves a 503', async () => {
    const wire = await openTcpProxy(nodes.ownerPort)
    nodes.peer = { ...nodes.peer, url: wire.url }
    await nodes.warm()
    nodes.found = nodes.peer
    nodes.answer = (request) => {
      wire.cut()
      return gone(request).then(() => new Response('too late'))
    }
    for (const init of [
      {},
      { method: 'POST', body: 'charged', headers: { 'idempotency-key': 'a' } },
      { method: 'POST', body: new Uint8Array(100_000) },
    ]) {
      const answer = await get('/', init)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    }
    expect([nodes.handled, nodes.asked, missing()]).toEqual([3, 0, ['unknown', 'unknown', 'unknown']])
    await wire.close()
  })

  test('a stream that breaks off does not look complete', async () => {
    const wire = await openTcpProxy(nodes.ownerPort)
    nodes.peer = { ...nodes.peer, url: wire.url }
    await nodes.warm()
    nodes.answer = () =>
      new Response(
        new ReadableStream({
          pull: async (controller) => {
            controller.enqueue(text('part'))
            await new Promise(() => undefined)
          },
        }),
      )
    const answer = await get()
    const reader = answer.body?.getReader()
    await readUntil(reader, (part) => part === 'part')
    wire.cut()
    expect(
      await reader?.read().then(
        () => 'complete',
        () => 'broken',
      ),
    ).toBe('broken')
    await wire.close()
  })

  test('the owner sees a caller who hangs up: while it waits, while it reads a stream, and while it uploads', async () => {
    const left = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<string>(),
    ] as const
    nodes.answer = async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/wait') {
        await gone(request)
        left[0].resolve()
        return new Response('nobody reads it')
      }
      if (pathname === '/stream')
        return new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(text('x'.repeat(1000))),
            cancel: () => left[1].resolve(),
          }),
        )
      await request.bytes().then(
        () => left[2].resolve('a whole body'),
        () => left[2].resolve('a broken body'),
      )
      return new Response('nobody reads it')
    }
    const leaving = new AbortController()
    const waiting = get('/wait', { signal: leaving.signal }).catch(() => 'left')
    const stream = await get('/stream', { signal: leaving.signal })
    await stream.body?.getReader().read()
    const endless = new ReadableStream({
      async pull(controller) {
        controller.enqueue(text('part'))
        await Bun.sleep(1)
      },
    })
    const upload = get('/upload', {
      method: 'POST',
      body: endless,
      duplex: 'half',
      signal: leaving.signal,
    } as RequestInit).catch(() => 'left')
    await until(() => nodes.handled === 3)
    leaving.abort()
    expect(await Promise.all([waiting, upload])).toEqual(['left', 'left'])
    expect(await Promise.all(left.map(({ promise }) => promise))).toEqual([undefined, undefined, 'a broken body'])
    await nodes.forwarder.ended(10_000)
  })

  test('an owner that refuses a large body early is heard, and the rest is not sent', async () => {
    nodes.answer = () => Response.json({ error: { code: 'payload_too_large' } }, { status: 413 })
    const answer = await get('/', { method: 'POST', body: new Uint8Array(20_000_000) })
    expect([answer.status, await answer.text()]).toEqual([413, '{"error":{"code":"payload_too_large"}}'])
    expect((await get()).status).toBe(413)
  })

  test('an owner that says nothing is given up at the deadline, and soon after another node owns', async () => {
    await nodes.close()
    nodes = openHopPair({ deadlineMs: 100 }, way)
    await nodes.warm()
    nodes.answer = (request) => gone(request).then(() => new Response('too late'))
    expect((await get()).status).toBe(503)
    const silent = openHopPair({}, way)
    await silent.warm()
    silent.answer = nodes.answer
    const waiting = fetch(silent.url)
    await until(() => silent.handled === 1)
    silent.forwarder.abandon('main', silent.peer.term)
    silent.forwarder.abandon('c2', silent.peer.term + 1)
    expect(silent.missing).toEqual([])
    silent.forwarder.abandon('main', silent.peer.term + 1)
    expect((await waiting).status).toBe(503)
    expect([...nodes.missing, ...silent.missing].every(({ outcome }) => outcome === 'unknown')).toBe(true)
    await silent.close()
  })

  test('an owner whose answer is on its way while another one takes over is heard', async () => {
    const answer = Promise.withResolvers<Response>()
    nodes.answer = () => answer.promise
    const waiting = get()
    await until(() => nodes.handled === 1)
    nodes.forwarder.abandon('main', nodes.peer.term + 1)
    answer.resolve(new Response('served'))
    expect(await (await waiting).text()).toBe('served')
  })

  test('an owner behind a network that drops everything is given up, also by streams, and one that is only slow is not', async () => {
    const far = openHopPair({ silentMs: 200 }, way)
    const wire = await openTcpProxy(far.ownerPort)
    const right = far.peer
    far.peer = { ...right, url: wire.url }
    await far.warm()
    const answers = Promise.withResolvers<void>()
    far.answer = async ({ url }) => {
      if (url.endsWith('/stream')) return new Response(new ReadableStream({ start: (c) => c.enqueue(text('part')) }))
      await answers.promise
      return new Response('late')
    }
    const slow = fetch(far.url)
    const stream = (await fetch(`${far.url}/stream`)).body?.getReader()
    await readUntil(stream, (part) => part === 'part')
    // Silent for longer than it takes to give up, but there.
    await until(() => far.probes > 4)
    expect(far.missing).toEqual([])
    wire.stall()
    const broken = stream?.read().then(
      () => 'complete',
      () => 'broken',
    )
    expect([(await slow).status, await broken]).toEqual([503, 'broken'])
    expect(far.missing).toEqual([{ outcome: 'unknown', reason: 'the owner does not answer' }])
    answers.resolve()
    far.peer = right
    expect(await (await fetch(far.url)).text()).toBe('late')
    await wire.close()
    await far.close()
  })

  test('a caller who does not read a stream loses it, so that it holds no connection between nodes', async () => {
    const impatient = openHopPair({ stalledMs: 100 }, way)
    const wire = await openTcpProxy(impatient.ownerPort)
    impatient.peer = { ...impatient.peer, url: wire.url }
    await impatient.warm()
    const idle = wire.open
    const left = Promise.withResolvers<void>()
    impatient.answer = () =>
      new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(64_000)), cancel: () => left.resolve() }))
    const closed = Promise.withResolvers<void>()
    const caller = await Bun.connect({
      hostname: '127.0.0.1',
      port: impatient.port,
      socket: {
        open(socket) {
          socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
          socket.pause()
        },
        data: () => undefined,
        close: () => closed.resolve(),
      },
    })
    await until(() => impatient.handled === 1)
    const used = wire.open
    await left.promise
    caller.resume()
    await closed.promise
    await impatient.forwarder.ended(1_000)
    await until(() => wire.open <= idle)
    // A link stays for other calls.
    expect([used > 0, wire.open]).toEqual([true, idle])
    await wire.close()
    await impatient.close()
  })

  test('a node whose certificate is not trusted gets nothing of the request; one whose is serves it', async () => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
    })
    let seen = 0
    const tls = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      tls: { key, cert },
      fetch: () => new Response(`${++seen}`),
    })
    nodes.peer = { ...nodes.peer, url: `https://localhost:${tls.port}` }
    for (const init of [{ headers: { authorization: 'Bearer gwk_1' } }, { method: 'POST', body: 'secret' }])
      expect((await get('/', init)).status).toBe(503)
    expect([seen, missing()]).toEqual([0, ['did not run', 'did not run']])
    const folder = await mkdtemp(join(tmpdir(), 'hop-'))
    await writeFile(join(folder, 'ca.pem'), cert)
    const reach = (name: string) => {
      const program = `const { PeerConnection } = await import('${PEER_CONNECTION}')
        const none = () => undefined
        const to = new URL('https://${name}:${tls.port}')
        const connection = await PeerConnection.open(to, { freed: none, closed: none }, 5000).catch((error) => process.exit(error ? 3 : 4))
        const body = (bytes) => (console.log(Buffer.from(bytes).toString()), process.exit(0))
        connection.begin({ head: none, body, end: none, cut: none }, { isHead: false, isMore: false, bytes: Buffer.from('GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n') })`
      const env = { PATH: process.env['PATH'] ?? '', NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }
      return Bun.spawn([process.execPath, '-e', program], { env }).exited
    }
    expect(await Promise.all([reach('localhost'), reach('127.0.0.1')])).toEqual([0, 3])
    expect(seen).toBe(1)
    await rm(folder, { recursive: true, force: true })
    await tls.stop(true)
  })

  test('what is not HTTP, or could be read in two ways, is not passed on', async () => {
    const heads = [
      ...[
        'nonsense\r\n\r\n',
        'HTTP/2 200 OK\r\n\r\n',
        'HTTP/1.1 99 Low\r\n\r\n',
        'HTTP/1.1 700 High\r\ncontent-length: 0\r\n\r\n',
      ],
      ...[
        'content-length: 1\r\ntransfer-encoding: chunked',
        'content-length: 1\r\ncontent-length: 2',
        'content-length: -1',
        'content-length: 0x1',
      ].map((framing) => `HTTP/1.1 200 OK\r\n${framing}\r\n\r\nab`),
      ...['transfer-encoding: gzip', 'transfer-encoding: chunked, chunked', ': empty', 'no colon', 'name : space'].map(
        (line) => `HTTP/1.1 200 OK\r\n${line}\r\n\r\n`,
      ),
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n',
      `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(300_000)}\r\n\r\n`,
    ]
    let next = ''
    const server = createServer((socket) =>
      socket.on('error', () => undefined).on('data', () => socket.end(Buffer.from(next, 'latin1'))),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    nodes.peer = { ...nodes.peer, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}` }
    for (next of heads) expect([next.slice(0, 60), (await get()).status]).toEqual([next.slice(0, 60), 503])
    next =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.0 200 OK\r\nconnection: x-private\r\nx-private: 1\r\n\r\nuntil the end'
    const plain = await get()
    expect([plain.status, plain.headers.has('x-private'), await plain.text()]).toEqual([200, false, 'until the end'])
    next = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;name=value\r\nabc\r\n0\r\nx-trailer: 1\r\n\r\n'
    expect(await (await get()).text()).toBe('abc')
    for (next of [
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n',
    ])
      expect(
        await get()
          .then((answer) => answer.text())
          .then(
            () => 'complete',
            () => 'broken',
          ),
      ).toBe('broken')
    await new Promise((resolve) => server.close(resolve))
  })
})

/** Issue 23: the hop proves who forwards, and there is at most one. */
describe.each(WAYS)('attacks on a hop by %s', (way) => {
  beforeEach(async () => {
    nodes = openHopPair({}, way)
    await nodes.warm()
  })

  test('a hop header from outside is refused, whatever it says, and is never passed on', async () => {
    const hop = (age: number) =>
      nodes.signer.sign(
        { method: 'GET', target: '/', cell: 'main', term: 7, address: '127.0.0.1', requestId: 'req_1' },
        Date.now() - age,
      )
    for (const header of ['x', '', hop(6_000), `${hop(0)}0`, `${hop(0)}, ${hop(0)}`]) {
      const answer = await get('/', { headers: { 'x-gateway-hop': header } })
      expect([answer.status, answer.headers.get('x-gateway-hop')]).toEqual([421, 'misdirected'])
    }
    expect(nodes.handled).toBe(0)
  })

  test('a forwarded request is never forwarded again: two nodes that name each other end with a 503', async () => {
    nodes.peer = { ...nodes.peer, url: nodes.url }
    nodes.found = nodes.peer
    expect([(await get()).status, nodes.asked, nodes.handled]).toEqual([503, 1, 0])
  })

  test('a header that the caller declares to be of its connection is dropped, and cannot take ours or the host away', async () => {
    nodes.answer = (request, { address }) =>
      Response.json([
        address,
        request.headers.get('host'),
        request.headers.get('x-private'),
        request.headers.get('connection'),
      ])
    const answer = await rawRequest(
      nodes.port,
      'GET / HTTP/1.1\r\nHost: a.test\r\nX-Private: 1\r\nConnection: close, X-Gateway-Hop, host, x-private\r\n\r\n',
    )
    expect(answer).toContain('["203.0.113.7","a.test",null,null]')
  })

  test('a request whose framing is unclear is never smuggled past the first node', async () => {
    nodes.answer = async (request) =>
      Response.json([request.method, new URL(request.url).pathname, await request.text()])
    const inner = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
    const framings = [
      `Content-Length: ${inner.length}\r\nTransfer-Encoding: chunked`,
      `Content-Length: 0\r\nContent-Length: ${inner.length}`,
      'Transfer-Encoding: xchunked',
      `Content-Length: ${inner.length}`,
    ]
    for (const method of ['POST', 'GET', 'HEAD'])
      for (const framing of framings) {
        const answer = await rawRequest(
          nodes.port,
          `${method} /outer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${framing}\r\n\r\n${inner}`,
        )
        expect(answer).not.toContain('"/smuggled"')
      }
  })
})
