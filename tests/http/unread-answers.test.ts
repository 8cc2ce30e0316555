import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ok } from '../../server/core/result'
import { UnreadAnswers } from '../../server/http/middleware/response/unread-answers'
import { FakeClock, WIDE } from '../support/harness'
import { openServedGateway } from '../support/servers/served-gateway'
import { until } from '../support/until'

const MIB = 1024 * 1024
/** More than the kernel takes of an unread answer. */
const BODY = JSON.stringify({ grounding: 'x'.repeat(15 * MIB) })
const PATH = '/apis/v1/websearch/llm/context?q=otters'

let gateway: Awaited<ReturnType<typeof openServedGateway>>
beforeAll(async () => {
  gateway = await openServedGateway()
  gateway.context.answer = async () => ok({ body: BODY })
})
afterAll(() => gateway.close())

const waiting = () => gateway.core.unread.waiting
const caller = async () => gateway.key(await gateway.account(10, WIDE))

/** Asks for a large answer and does not read it until `resume`. */
async function silent(secret: string) {
  let bytes = 0
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: Number(new URL(gateway.origin).port),
    socket: {
      data: (_socket, part) => {
        bytes += part.length
      },
    },
  })
  socket.pause()
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`)
  return { resume: () => socket.resume(), bytes: () => bytes, end: () => socket.terminate() }
}

describe('answers that are not read', () => {
  test('hold 32 MiB per account: those that were not read for the longest time end, and another account is served', async () => {
    const [hoarder, reader] = [await caller(), await caller()]
    const sockets = []
    for (let i = 0; i < 6; i++) {
      sockets.push(await silent(hoarder.secret))
      await until(() => gateway.context.asked.length === i + 1 && waiting().answers === Math.min(i + 1, 2))
      expect(waiting().bytes).toBeLessThanOrEqual(32 * MIB)
    }
    const isWhole = async () => {
      const answer = await fetch(`${gateway.origin}${PATH}`, { headers: { authorization: `Bearer ${reader.secret}` } })
      return answer.status === 200 && (await answer.text()) === BODY
    }
    expect([await isWhole(), waiting().answers]).toEqual([true, 2])
    for (const socket of sockets.slice(0, 4)) socket.resume()
    // While it is read, whatever the four still get would come as well.
    expect(await isWhole()).toBe(true)
    for (const socket of sockets.slice(0, 4)) expect(socket.bytes()).toBeWithin(1, BODY.length)
    for (const socket of sockets) socket.end()
    await until(() => waiting().answers === 0)
    expect(waiting()).toEqual({ bytes: 0, answers: 0 })
  })

  test('of the owner’s API count against the same account, and end when the reader hangs up', async () => {
    const owner = await gateway.owner()
    const { id } = (await (await owner.api('/api/account')).json()) as { id: string }
    const note = 'n'.repeat(500)
    for (let i = 0; i < 120; i++)
      await owner.api('/api/keys', {
        name: `key ${i}`,
        note,
        allowed_ips: Array.from({ length: 50 }, (_, j) => `10.0.${i}.${j}`),
      })
    const list = () =>
      gateway.gateway.fetch(new Request(`${gateway.origin}/api/keys?limit=200`, { headers: { cookie: owner.cookie } }))
    const answer = await list()
    // This process reads only when it is asked to.
    expect(gateway.core.unread.waitingOf(id)).toBeGreaterThan(64 * 1024)
    expect(((await answer.json()) as { keys: unknown[] }).keys).toHaveLength(120)
    await (await list()).body?.cancel()
    expect(waiting()).toEqual({ bytes: 0, answers: 0 })
  })
})

describe('a reader', () => {
  const SIZE = 1024 * 1024
  const open = () => {
    const clock = new FakeClock({})
    const unread = new UnreadAnswers({ owner: 2 * SIZE, all: 3 * SIZE }, clock)
    const reader = (owner = 'one') => unread.inPieces(new Uint8Array(SIZE), owner).getReader()
    return { clock, unread, reader }
  }

  test('that takes a piece every ten seconds gets its whole answer', async () => {
    const { clock, unread, reader } = open()
    const slow = reader()
    let bytes = 0
    for (let part = await slow.read(); !part.done; part = await slow.read()) {
      bytes += part.value.byteLength
      clock.advance(10_000)
      unread.endSlow()
    }
    expect([bytes, unread.waiting.answers]).toEqual([SIZE, 0])
  })

  test('that takes less than 4 KiB/s within 30 s gets no more', async () => {
    const { clock, unread, reader } = open()
    const slow = reader()
    await slow.read()
    clock.advance(29_999)
    unread.endSlow()
    expect(unread.waiting.answers).toBe(1)
    clock.advance(1)
    unread.endSlow()
    expect(unread.waiting).toEqual({ bytes: 0, answers: 0 })
    expect(await Promise.race([slow.read(), Bun.sleep(1).then(() => 'nothing')])).toBe('nothing')
  })

  test('that took something most recently keeps its answer when the process is full', async () => {
    const { clock, unread, reader } = open()
    const [first, second] = [reader('a'), reader('b')]
    reader('c')
    clock.advance(1)
    await first.read()
    reader('d')
    expect(unread.waiting).toEqual({ bytes: 3 * SIZE, answers: 3 })
    expect(['a', 'b', 'c', 'd'].map((owner) => unread.waitingOf(owner) > 0)).toEqual([true, false, true, true])
    await second.cancel()
    expect(unread.waiting.answers).toBe(3)
  })
})
