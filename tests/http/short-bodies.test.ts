import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BytesInProgress } from '../../server/core/limits/bytes-in-progress'
import { Intake } from '../../server/http/middleware/input/intake'
import type { Listening } from '../../server/listen'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { listenTo } from '../support/servers/listen-to'
import { until } from '../support/until'
import { endAndReconcile } from './wire'

/** Bodies of a declared length of up to 40 KiB are read in one piece. */
describe('a short body over a socket', () => {
  let gateway: Harness
  let key: MadeKey
  let web: Listening
  const faults: unknown[] = []

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account())
    web = listenTo(gateway.gateway, (error) => faults.push(error))
  })
  afterAll(async () => {
    await web.stop(1000)
    await endAndReconcile(gateway)
    expect(faults).toEqual([])
  })

  const BODY = JSON.stringify({ model: 'sandbox/echo', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] })

  /** Sends a call with the length of `BODY` and these bytes of it. */
  async function send(bytes: string) {
    const ended = Promise.withResolvers<void>()
    let text = ''
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: web.port,
      socket: {
        data(_socket, chunk) {
          text += chunk.toString()
        },
        close: () => ended.resolve(),
      },
    })
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key.secret}\r\n`
    socket.write(`${head}content-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${bytes}`)
    return { socket, ended: ended.promise, text: () => text }
  }

  test('is answered once its last bytes have arrived', async () => {
    const { socket, text } = await send(BODY.slice(0, 20))
    await Bun.sleep(20)
    expect(text()).toBe('')
    socket.write(BODY.slice(20))
    await until(() => text().includes('chat.completion'))
    expect(text()).toStartWith('HTTP/1.1 200 OK')
    socket.end()
  })

  test('that stalls is 408 after 10 seconds, and its connection is closed', async () => {
    const { ended, text } = await send(BODY.slice(0, 20))
    await until(() => {
      gateway.clock.advance(1000)
      return text() !== ''
    })
    expect(text()).toStartWith('HTTP/1.1 408')
    expect(text()).toContain('"code":"request_timeout"')
    await ended
  })

  test('whose connection ends early disturbs no other call', async () => {
    const { socket } = await send(BODY.slice(0, 20))
    await Bun.sleep(20)
    socket.end()
    const whole = await send(BODY)
    await until(() => whole.text().includes('chat.completion'))
    whole.socket.end()
  })
})

test('a short body counts against its account from its beginning, until it has ended', async () => {
  const intake = new Intake(new BytesInProgress({ subject: 100, all: 1000 }), { now: () => 0 })
  const terms = { maxBytes: 1000, check: () => null }
  const begun = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const body = new ReadableStream<Uint8Array>({
      async start(to) {
        await promise
        to.enqueue(new Uint8Array(60))
        to.close()
      },
    })
    const request = new Request('http://localhost', { method: 'POST', headers: { 'content-length': '60' }, body })
    return { taken: intake.take(request, 'account one', terms), send: resolve }
  }
  const first = begun()
  const turn = new Promise((resolve) => setImmediate(resolve))
  const refused = { ok: false, error: { code: 'rate_limit_exceeded' } }
  expect(await Promise.race([begun().taken, turn])).toMatchObject(refused)
  first.send()
  const taken = await first.taken
  if (!taken.ok) throw new Error(taken.error.code)
  expect(taken.value.byteLength).toBe(60)
  taken.value.giveBack()
  const again = begun()
  again.send()
  expect((await again.taken).ok).toBe(true)
})

test('a fault while a short body is checked ends the call, and nothing of the body counts', async () => {
  const intake = new Intake(new BytesInProgress({ subject: 100, all: 1000 }), { now: () => 0 })
  const take = (check: () => null) => {
    const headers = { 'content-length': '60' }
    const request = new Request('http://localhost', { method: 'POST', headers, body: new Uint8Array(60) })
    return intake.take(request, 'account one', { maxBytes: 1000, check })
  }
  const broken = async () =>
    take(() => {
      throw new Error('a fault')
    })
  await expect(broken()).rejects.toThrow('a fault')
  expect((await take(() => null)).ok).toBe(true)
})

test('of bodies that stall together few end in one turn: Bun closes their connections on one stack', async () => {
  let now = 0
  const intake = new Intake(new BytesInProgress({ subject: 10_000, all: 10_000 }), { now: () => now })
  const ends: number[] = []
  let turn = 0
  const taken = Array.from({ length: 200 }, async () => {
    const request = new Request('http://localhost', {
      method: 'POST',
      headers: { 'content-length': '10' },
      body: new ReadableStream<Uint8Array>(),
    })
    const { ok } = await intake.take(request, 'account one', { maxBytes: 10, check: () => null })
    ends.push(turn)
    return ok
  })
  now = 60_000
  for (; ends.length < taken.length; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(new Set(await Promise.all(taken))).toEqual(new Set([false]))
  expect(new Set(ends).size).toBeGreaterThanOrEqual(4)
})
