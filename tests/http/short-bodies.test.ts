import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
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
