import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { micros } from '../../../server/core/money'
import { anApi, anOperation } from '../../support/apis'
import { type Harness, openHarness } from '../../support/harness'
import { endAndReconcile } from '../wire'

const PATH = '/apis/v1/weather/v1/forecast'
const SECRET = 'upstream-secret-1'
/** The upstream's output for a request, byte by byte. */
type Writing = (socket: Socket) => void

let gateway: Harness
let port: number
let write: Writing
let received: number
const server = createServer((socket) => {
  socket.on('error', () => undefined) // the gateway hung up
  let text = ''
  socket.on('data', (data) => {
    text += data
    if (!text.includes('\r\n\r\n')) return
    text = ''
    received++
    write(socket)
  })
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  gateway = await openHarness({
    env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', UPSTREAM_KEY: SECRET, CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  })
})
afterAll(async () => {
  await endAndReconcile(gateway)
  server.close()
})
beforeEach(() => {
  received = 0
  const price = { mode: 'units', amount: micros(1000), figure: { kind: 'pointer', pointer: '/n' }, block: 1 } as const
  const counted = { ...price, minimum: 0, maximum: 5, onMissing: null }
  const operations = [
    anOperation({ headersDown: ['x-extra'] }),
    anOperation({ id: 'counted', path: '/v1/counted', price: counted }),
    anOperation({ id: 'streamed', path: '/v1/streamed', answer: 'stream' }),
    anOperation({ id: 'changing', path: '/v1/changing', effect: 'write' }),
  ]
  const auth = { kind: 'header', name: 'x-key', secret: { from: 'environment', name: 'UPSTREAM_KEY' } } as const
  gateway.core.apis.replace([anApi({ baseUrl: `http://127.0.0.1:${port}`, auth, operations, timeoutMs: 2000 })])
})

const head = (...lines: string[]) =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
async function buyer() {
  const account = await gateway.account(5)
  const names = ['forecast', 'counted', 'streamed', 'changing'].map((id) => `weather.${id}`)
  const key = await gateway.key(account, { allowed_endpoints: names })
  const balance = async () => Number((await gateway.core.ledger.balance(account.id))?.available)
  const before = await balance()
  return { key, get: (path = PATH) => gateway.as(key, path), spent: async () => before - (await balance()) }
}

test.each<[string, Writing]>([
  ['says it is longer than it is', (socket) => socket.end(`${head('Content-Length: 50')}{"a":1}`)],
  ['ends in the middle of a chunk', (socket) => socket.end(`${head('Transfer-Encoding: chunked')}20\r\n{"a":`)],
  [
    'says it is gzip and is not',
    (socket) => socket.write(`${head('Content-Encoding: gzip', 'Content-Length: 7')}{"a":1}`),
  ],
  [
    'says it has been encoded twice',
    (socket) => socket.write(`${head('Content-Encoding: gzip, gzip', 'Content-Length: 7')}{"a":1}`),
  ],
  [
    'is a bomb',
    (socket) => {
      const bomb = gzipSync(Buffer.alloc(17 * 1024 * 1024))
      socket.write(head('Content-Encoding: gzip', `Content-Length: ${bomb.length}`))
      socket.write(bomb)
    },
  ],
  [
    'shows the secret compressed',
    (socket) => {
      const packed = gzipSync(JSON.stringify({ key: SECRET }))
      socket.write(head('Content-Encoding: gzip', `Content-Length: ${packed.length}`))
      socket.write(packed)
    },
  ],
  [
    'shows the secret in an early hint and in the answer',
    (socket) =>
      socket.write(
        `HTTP/1.1 103 Early Hints\r\nLink: <${SECRET}>\r\n\r\n${head('Content-Length: 24')}{"a":"${SECRET}"`,
      ),
  ],
  ['has no HTTP in it', (socket) => socket.end(`${SECRET}\r\n\r\n`)],
  [
    'goes on for ever',
    (socket) => {
      socket.write(head('Transfer-Encoding: chunked'))
      const more = () =>
        !socket.destroyed && socket.write(`10000\r\n${' '.repeat(65536)}\r\n`, () => setImmediate(more))
      more()
    },
  ],
  [
    'has headers without end',
    (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = () => !socket.destroyed && socket.write(`X-A: ${'a'.repeat(8000)}\r\n`, () => setImmediate(more))
      more()
    },
  ],
])('an answer that %s is a 5xx, costs nothing and shows nothing', async (_, writes) => {
  write = writes
  const { get, spent } = await buyer()
  const answer = await get()
  const text = await answer.text()
  expect(answer.status).toBeGreaterThanOrEqual(502)
  expect(text + JSON.stringify([...answer.headers])).not.toContain(SECRET)
  expect(await spent()).toBe(0)
})

const jsonOf = (body: string) => `${head(`Content-Length: ${Buffer.byteLength(body)}`)}${body}`

test.each(['', ' \n', '<html>Bad gateway</html>', '{"a":1', '[1,2', '"cut', '{', 'while(1);{}', 'NaN'])(
  'a body that calls itself JSON and is %j is a 502, and free',
  async (body) => {
    write = (socket) => socket.write(jsonOf(body))
    const { get, spent } = await buyer()
    const answer = await get()
    expect([answer.status, (await answer.json()).error.code]).toEqual([502, 'upstream_error'])
    expect(await spent()).toBe(0)
  },
)

test.each(['{"a":NaN}', '\ufeff{"a":1}\r\n', ' [1] ', '"text"', '7', 'null', '{"a":1}\n{"a":2}\n'])(
  'a body that calls itself JSON, begins and ends as JSON does (%j), is passed on and charged',
  async (body) => {
    write = (socket) => socket.write(jsonOf(body))
    const { get, spent } = await buyer()
    const answer = await get()
    expect([answer.status, Buffer.from(await answer.arrayBuffer()).toString()]).toEqual([200, body])
    expect(await spent()).toBe(10_000)
  },
)

test('a write may answer with an empty body, whatever its type', async () => {
  write = (socket) => socket.write(jsonOf(''))
  const { get, spent } = await buyer()
  expect((await get('/apis/v1/weather/v1/changing')).status).toBe(200)
  expect(await spent()).toBe(10_000)
})

test('early hints and trailers of an upstream are not passed on', async () => {
  write = (socket) =>
    socket.write(
      `HTTP/1.1 103 Early Hints\r\nX-Extra: early\r\n\r\n${head('Transfer-Encoding: chunked', 'Trailer: X-Extra')}2\r\n{}\r\n0\r\nX-Extra: ${SECRET}\r\n\r\n`,
    )
  const { get, spent } = await buyer()
  const answer = await get()
  expect([answer.status, await answer.text(), answer.headers.get('x-extra')]).toEqual([200, '{}', null])
  expect(await spent()).toBe(10_000)
})

test('an answer that a shared cache would keep, since its key was not in Authorization, is private', async () => {
  write = (socket) =>
    socket.write(
      `${head('Content-Length: 2', 'Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT', 'Cache-Control: public')}{}`,
    )
  const { key } = await buyer()
  for (const headers of [{ 'x-api-key': key.secret }, { authorization: `Bearer ${key.secret}` }]) {
    const answer = await gateway.call(PATH, { headers })
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'private'])
    expect(answer.headers.get('last-modified')).not.toBeNull()
  }
})

test('a second answer behind the first is dropped: the next caller on the same connection does not get it', async () => {
  const answer = (text: string) => `${head(`Content-Length: ${text.length}`)}${text}`
  const [ada, bob] = [await buyer(), await buyer()]
  // Once in the same packet, and once later, while the connection waits for the next request.
  for (const isLater of [false, true]) {
    const poisoned = Promise.withResolvers<void>()
    write = (socket) => {
      write = (next) => next.write(answer('{"to":"bob"}'))
      const poison = () => socket.write(answer('{"to":"poison"}'), () => poisoned.resolve())
      socket.write(answer('{"to":"ada"}') + (isLater ? '' : answer('{"to":"poison"}')))
      if (isLater) answered.promise.then(poison)
      else poisoned.resolve()
    }
    const answered = Promise.withResolvers<void>()
    expect(await (await ada.get()).json()).toEqual({ to: 'ada' })
    answered.resolve()
    await poisoned.promise
    expect(await (await bob.get()).json()).toEqual({ to: 'bob' })
  }
})

test.each([
  ['-1', 502, 0],
  ['-0', 502, 0],
  ['1e400', 502, 0],
  ['1e-400', 502, 0],
  ['"3"', 200, 3000],
  ['"3; DROP"', 502, 0],
  ['[[1],[2]]', 200, 2000],
  ['{"length":3}', 502, 0],
  ['true', 502, 0],
  ['0', 200, 0],
])('a count of %s is answered %i and costs %i', async (count, status, cost) => {
  const text = `{"n":${count}}`
  write = (socket) => socket.write(`${head(`Content-Length: ${text.length}`)}${text}`)
  const { get, spent } = await buyer()
  expect((await get('/apis/v1/weather/v1/counted')).status).toBe(status)
  expect(await spent()).toBe(cost)
})

test('a write with the method GET is sent once, also when its connection breaks at once', async () => {
  write = (socket) => socket.write(`${head('Content-Length: 2')}{}`)
  const { get, spent } = await buyer()
  expect((await get()).status).toBe(200)
  write = (socket) => socket.destroy()
  expect((await get('/apis/v1/weather/v1/changing')).status).toBeGreaterThanOrEqual(502)
  expect([received, await spent()]).toEqual([2, 10_000])
  // A read on the connection that was kept for it is sent again, on another one.
  write = (socket) => {
    write = (next) => next.write(`${head('Content-Length: 2')}{}`)
    socket.destroy()
  }
  expect((await get()).status).toBe(200)
  expect(received).toBe(4)
})

test('an API that is disabled while it streams ends no stream: it was sold, and is charged once', async () => {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  write = (socket) => {
    socket.write(`${head('Transfer-Encoding: chunked')}5\r\nfirst\r\n`)
    resolve(socket)
  }
  const { get, spent } = await buyer()
  const answer = await get('/apis/v1/weather/v1/streamed')
  const socket = await promise
  gateway.core.apis.replace([])
  expect((await get()).status).toBe(404)
  socket.write('4\r\nlast\r\n0\r\n\r\n')
  expect([answer.status, await answer.text()]).toEqual([200, 'firstlast'])
  expect(await spent()).toBe(10_000)
  expect(received).toBe(1)
})
