import { describe, expect, test } from 'bun:test'
import { HandOver, WaitingRoom } from '../server/hand-over'
import { until } from './support/until'

/** One gateway hands over to the next. */
describe('a gateway whose successor announces itself', () => {
  function running({ takeOver = true } = {}) {
    const done: string[] = []
    const note = (what: string) => () => void done.push(what)
    const handOver = new HandOver({
      config: { takeOver, host: '127.0.0.1', port: 3000, drainNoticeSeconds: 0 },
      web: { retireConnections: note('retire'), keepConnections: note('keep'), closePort: note('close') },
      stopping: { announce: note('announce'), takeBack: note('take back') },
      drainMs: () => 35_000,
      leave: note('leave'),
      maxAbsenceMs: 1,
    })
    const ask = (path: string, body: unknown = {}) =>
      handOver.answer(new Request(`http://gateway${path}`, { method: 'POST', body: JSON.stringify(body) }))
    return { done, ask }
  }
  const SAME = { host: '127.0.0.1', port: 3000 }

  test('says how long it takes, and leaves on request', async () => {
    const { done, ask } = running()
    const answer = await ask('/hand-over/announce', SAME)
    expect(await answer?.json()).toEqual({ notice_seconds: 0, drain_seconds: 35 })
    expect((await ask('/hand-over/leave'))?.status).toBe(200)
    await until(() => done.includes('leave'))
    expect(done).toEqual(['announce', 'retire', 'close', 'leave'])
  })

  test('serves on when the successor does not come', async () => {
    const { done, ask } = running()
    await ask('/hand-over/announce', SAME)
    await until(() => done.includes('keep'))
    expect(done).toEqual(['announce', 'retire', 'take back', 'keep'])
  })

  test.each([
    [{ host: '127.0.0.1', port: 3001 }, true, 'it listens on 127.0.0.1:3000'],
    [{ host: '0.0.0.0', port: 3000 }, true, 'it listens on 127.0.0.1:3000'],
    [SAME, false, 'it was started without TAKE_OVER=true'],
    ['nonsense', true, 'it listens on'],
  ])('changes nothing for %j with TAKE_OVER %p', async (body, takeOver, problem) => {
    const { done, ask } = running({ takeOver })
    const answer = await ask('/hand-over/announce', body)
    expect(answer?.status).toBe(409)
    expect(await answer?.json()).toEqual({ problem: expect.stringContaining(problem) })
    expect(done).toEqual([])
  })

  test('leaves all other commands to the operator', () => {
    expect(running().ask('/ready')).toBeNull()
  })
})

describe('requests that come before the gateway can handle them', () => {
  test('wait, and are handled once it can', async () => {
    const room = new WaitingRoom()
    const waiting = room.handle(new Request('http://gateway/'))
    room.open(() => new Response('handled'))
    expect(await (await waiting).text()).toBe('handled')
    expect(await (await room.handle(new Request('http://gateway/'))).text()).toBe('handled')
  })

  test('are dropped if their caller has left, because their charged answers would go unread', async () => {
    const room = new WaitingRoom()
    const caller = new AbortController()
    const waiting = room.handle(new Request('http://gateway/', { signal: caller.signal }))
    caller.abort()
    let handled = 0
    room.open(() => {
      handled++
      return new Response()
    })
    expect((await waiting).status).toBe(503)
    expect(handled).toBe(0)
  })

  test('get a 503 with Retry-After when it takes too long', async () => {
    const answer = await new WaitingRoom(1).handle(new Request('http://gateway/'))
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await answer.json()).error.code).toBe('service_unavailable')
  })
})
