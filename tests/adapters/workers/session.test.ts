import { describe, expect, test } from 'bun:test'
import { encodedFrame, type Frame, type FrameHead, type Payload } from '../../../server/adapters/workers/frames'
import { Session } from '../../../server/adapters/workers/session'
import { Cable, Turns, type WireEnd } from '../../support/doubles/worker-wire'

const EPOCH = 5

function party(side: 'worker' | 'primary', more: Partial<ConstructorParameters<typeof Session>[0]> = {}) {
  const turns = new Turns()
  const frames: Frame[] = []
  const ends: string[] = []
  const clock = { ms: 0 }
  const session = new Session({
    side,
    epoch: EPOCH,
    now: () => clock.ms,
    later: turns.later,
    onFrame: (frame) => frames.push(frame),
    onBreak: (reason) => ends.push(reason),
    onCutOff: (reason) => ends.push(reason),
    ...more,
  })
  return { session, turns, frames, ends, clock }
}

function pair(
  ofWorker: Parameters<typeof party>[1] = {},
  ofPrimary: Parameters<typeof party>[1] = {},
  room = Number.POSITIVE_INFINITY,
) {
  const worker = party('worker', ofWorker)
  const primary = party('primary', ofPrimary)
  const cable = new Cable(worker.session, primary.session, room)
  const settle = () => {
    for (let i = 0; i < 4; i++)
      for (const [name, one] of [
        ['worker', worker],
        ['primary', primary],
      ] as const) {
        one.turns.run()
        cable.deliver(name)
      }
  }
  return { worker, primary, cable, settle }
}

const ignored = () => undefined
const marks = (frames: readonly Frame[]) => frames.map(({ payload }) => payload[0])
const ADMIT: FrameHead = { kind: 'admit', epoch: EPOCH, number: 1, received: 0, request: 1 }
/** The primary receives a frame that its worker did not send. */
const forge = ({ primary }: Cable, head: Partial<FrameHead>, payload: Payload = []) => {
  primary.session.receive(primary, encodedFrame({ ...ADMIT, ...head }, payload) ?? Buffer.alloc(0))
}

describe('a session', () => {
  test('sends what ends a call before holds, and holds before new calls', () => {
    const { worker, primary, settle } = pair()
    for (const kind of ['admit', 'hold', 'capture', 'admit', 'release', 'keep', 'hold'] as const)
      worker.session.ask(kind, [kind], ignored)
    settle()
    expect(marks(primary.frames)).toEqual(['capture', 'keep', 'hold', 'release', 'hold', 'admit', 'admit'])
  })

  test('lets a capture pass admits that a slow connection holds up', () => {
    const { worker, primary, cable, settle } = pair({}, {}, 0)
    for (let i = 0; i < 100; i++) worker.session.ask('admit', [`${i} ${'x'.repeat(4000)}`], ignored)
    settle()
    worker.session.ask('capture', ['capture'], ignored)
    cable.worker.drain(10_000_000)
    cable.primary.drain(10_000_000)
    settle()
    // Only what was encoded before stays ahead of it: 64 KB and the frame that went over.
    expect(marks(primary.frames).indexOf('capture')).toBe(17)
    expect(primary.frames.length).toBe(101)
  })

  test('lets a capture pass admits for which the primary has no time', () => {
    const { worker, primary, settle } = pair()
    for (let i = 0; i < 1000; i++) worker.session.ask(i % 2 ? 'admit' : 'hold', [i], ignored)
    settle()
    expect(primary.frames.length).toBe(512)
    worker.session.ask('capture', ['capture'], ignored)
    settle()
    expect(marks(primary.frames).indexOf('capture')).toBe(512)
    // Each answer lets one more go, of its own order.
    const admits = primary.frames.filter(({ kind }) => kind === 'admit')
    for (const { request } of admits.slice(0, 10)) primary.session.answer(request, [])
    settle()
    expect(primary.frames.slice(513).map(({ kind }) => kind)).toEqual(Array(10).fill('admit'))
    while (primary.frames.length > 0) {
      for (const { request } of primary.frames.splice(0)) primary.session.answer(request, [])
      settle()
    }
    expect(Reflect.get(worker.session, 'waiting').size).toBe(0)
  })

  test('sends a long queue to its end, in its order', () => {
    const { worker, primary, cable, settle } = pair({}, {}, 0)
    const count = 5000
    for (let i = 0; i < count; i++) worker.session.tell('note', [i])
    settle()
    for (let i = 0; i < 100; i++) cable.worker.drain(10_000)
    settle()
    expect(marks(primary.frames)).toEqual(Array.from({ length: count }, (_, i) => i))
  })

  test('gives each request its answer, in any order', () => {
    const { worker, primary, settle } = pair()
    const answers: unknown[] = []
    for (const mark of ['a', 'b', 'c']) worker.session.ask('admit', [mark], (answer) => answers.push([mark, answer]))
    settle()
    for (const { request, payload } of primary.frames.toReversed())
      primary.session.answer(request, [`to ${payload[0]}`])
    settle()
    expect(answers).toEqual([
      ['c', ['to c']],
      ['b', ['to b']],
      ['a', ['to a']],
    ])
    expect(primary.session.answer(1, ['again'])).toBe(false)
    expect(primary.session.answer(99, ['to nothing'])).toBe(false)
  })

  test('keeps answers until they are acknowledged, and sends them over the next connection', () => {
    const { worker, primary, cable, settle } = pair()
    const answers: unknown[] = []
    worker.session.ask('capture', ['c'], (answer) => answers.push(answer))
    settle()
    primary.session.answer(1, ['durable'])
    primary.turns.run()
    cable.cut()
    expect(answers).toEqual([])
    const next = new Cable(worker.session, primary.session)
    primary.turns.run()
    next.deliver('primary')
    expect(answers).toEqual([['durable']])
    expect(marks(primary.frames)).toEqual(['c'])
  })

  test('gives null to what was asked and not answered when it ends, and to what is asked afterwards', () => {
    const { worker, settle } = pair()
    const answers: unknown[] = []
    worker.session.ask('hold', [1], (answer) => answers.push(answer))
    settle()
    worker.session.end()
    worker.session.ask('hold', [2], (answer) => answers.push(answer))
    expect(answers).toEqual([null, null])
    expect(worker.session.tell('note', [])).toBe(false)
    expect(worker.session.beat()).toBe(false)
    expect(worker.ends).toEqual([])
  })

  test('does not send what is above the limit of its kind, and goes on', () => {
    const { worker, primary, settle } = pair()
    const answers: unknown[] = []
    expect(worker.session.tell('alone', ['x'.repeat(1024)])).toBe(false)
    worker.session.ask('hold', ['x'.repeat(8192)], (answer) => answers.push(answer))
    worker.session.ask('hold', ['x'], (answer) => answers.push(answer))
    settle()
    expect(marks(primary.frames)).toEqual(['x'])
    expect(primary.session.answer(primary.frames[0]?.request ?? 0, ['x'.repeat(5_000_000)])).toBe(true)
    settle()
    expect(answers).toEqual([null, []])
    expect([...worker.ends, ...primary.ends]).toEqual([])
  })

  test('reads nothing from a connection that it left', () => {
    const { worker, primary, cable, settle } = pair()
    settle()
    new Cable(worker.session, primary.session)
    forge(cable, { number: 1 })
    primary.session.closed(cable.primary)
    primary.session.drained(cable.primary)
    expect(primary.frames).toEqual([])
    expect(primary.ends).toEqual([])
  })

  test('breaks its connection if a handler throws, and does not get that frame again', () => {
    const taken: unknown[] = []
    const { worker, primary, cable, settle } = pair(
      {},
      {
        onFrame: ({ payload }) => {
          taken.push(payload[0])
          if (payload[0] === 'bad') throw new Error('a bug')
        },
      },
    )
    settle()
    for (const mark of ['good', 'bad', 'next']) worker.session.ask('admit', [mark], ignored)
    worker.turns.run()
    expect(() => cable.deliver('worker')).toThrow('a bug')
    expect(primary.ends).toEqual(['closed'])
    worker.session.closed(cable.worker)
    const next = new Cable(worker.session, primary.session)
    worker.turns.run()
    next.deliver('worker')
    expect(taken).toEqual(['good', 'bad', 'next'])
  })
})

describe('a lease', () => {
  test('counts from before the last frame was sent that the other side acknowledged', () => {
    const { worker, primary, cable } = pair()
    worker.turns.run()
    primary.turns.run()
    worker.clock.ms = 1000
    worker.session.beat()
    worker.turns.run()
    worker.clock.ms = 3000
    primary.clock.ms = 70_000
    expect(worker.session.confirmedAt).toBe(Number.NEGATIVE_INFINITY)
    cable.deliver('worker')
    primary.turns.run()
    cable.deliver('primary')
    expect(worker.session.confirmedAt).toBe(1000)
    expect(primary.session.sentAt).toBe(70_000)
  })

  test('is renewed under constant traffic, of which the last frame is never acknowledged', () => {
    const { worker, primary, cable } = pair()
    worker.turns.run()
    for (let ms = 0; ms < 1000; ms += 10) {
      worker.clock.ms = ms
      worker.session.ask('admit', [ms], ignored)
      worker.turns.run()
      // The primary is always one frame behind.
      if (ms > 0) cable.deliver('worker', cable.worker.inFlight / 2)
      for (const { request } of primary.frames.splice(0)) primary.session.answer(request, [])
      primary.turns.run()
      cable.deliver('primary')
    }
    expect(worker.session.confirmedAt).toBeGreaterThan(900)
  })

  test('is not renewed by frames that were sent again', () => {
    const { worker, primary, cable } = pair()
    worker.turns.run()
    worker.clock.ms = 1000
    worker.session.beat()
    worker.turns.run()
    cable.cut()
    worker.clock.ms = 9000
    const next = new Cable(worker.session, primary.session)
    worker.turns.run()
    next.deliver('worker')
    primary.turns.run()
    next.deliver('primary')
    expect(worker.session.confirmedAt).toBe(1000)
  })
})

describe('an acknowledgement', () => {
  test('comes by itself after 256 frames, so that a side that only receives does not hold up the other', () => {
    const { worker, primary, settle } = pair()
    for (let i = 0; i < 300; i++) worker.session.tell('note', [i])
    settle()
    expect(primary.frames.length).toBe(300)
    expect(Reflect.get(worker.session, 'outbox').frames).toBe(0)
  })
})

describe('a connection breaks', () => {
  const cases: readonly [string, Partial<FrameHead>][] = [
    ['older_epoch', { epoch: EPOCH - 1 }],
    ['newer_epoch', { epoch: EPOCH + 1 }],
    ['missing_frame', { number: 2 }],
    ['bad_acknowledgement', { received: 1 }],
    ['unknown_kind', { kind: 'push' }],
  ]
  for (const [reason, head] of cases)
    test(`${reason.replaceAll('_', ' ')}: its frame has no effect, nor has any later one`, () => {
      const { primary, cable } = pair()
      const forged = [head, {}].map((one) => encodedFrame({ ...ADMIT, ...one }, []) ?? Buffer.alloc(0))
      primary.session.receive(cable.primary, Buffer.concat(forged))
      forge(cable, {})
      expect(primary.ends).toEqual([reason])
      expect(primary.frames).toEqual([])
      expect(cable.primary.isEnded).toBe(true)
    })

  test('a frame that was seen has no effect', () => {
    const { primary, cable } = pair()
    forge(cable, {}, ['once'])
    forge(cable, {}, ['twice'])
    expect(marks(primary.frames)).toEqual(['once'])
    expect(primary.ends).toEqual([])
  })
})

describe('a session is cut off', () => {
  const limits = { frames: 10, bytes: 5000 }

  test('if too many frames wait, or are not acknowledged', () => {
    for (const isSent of [false, true]) {
      const { worker, settle, cable } = pair({ limits })
      if (isSent) settle()
      else cable.cut()
      worker.ends.length = 0
      for (let i = 0; i < 10; i++) {
        expect(worker.session.tell('note', [i])).toBe(true)
        worker.turns.run()
      }
      expect(worker.session.tell('note', [10])).toBe(false)
      expect(worker.ends).toEqual(['backlog'])
    }
  })

  test('if they have too many bytes', () => {
    const { worker } = pair({ limits })
    expect(worker.session.tell('note', ['x'.repeat(4900)])).toBe(true)
    expect(worker.session.tell('note', ['x'.repeat(100)])).toBe(false)
    expect(worker.ends).toEqual(['backlog'])
  })

  test('if the other side asks more than is answered', () => {
    for (const [count, size] of [
      [11, 1],
      [2, 3000],
    ] as const) {
      const { worker, primary, settle } = pair({}, { limits })
      for (let i = 0; i < count; i++) worker.session.ask('hold', ['x'.repeat(size)], ignored)
      settle()
      expect(primary.ends).toEqual(['unanswered'])
      expect(primary.frames.length).toBe(count - 1)
    }
  })

  test('but not by requests that were answered', () => {
    const { worker, primary, settle } = pair({}, { limits })
    for (let i = 0; i < 30; i++) {
      worker.session.ask('hold', ['x'.repeat(3000)], ignored)
      settle()
      primary.session.answer(i + 1, [])
      settle()
    }
    expect(primary.frames.length).toBe(30)
    expect(primary.ends).toEqual([])
  })

  test('if the other side asks under a number that is not answered yet', () => {
    const { primary, cable } = pair()
    forge(cable, { number: 1 })
    forge(cable, { number: 2 })
    expect(primary.ends).toEqual(['repeated_request'])
  })

  test('if the other side lacks frames that it acknowledged, or has some that were never sent', () => {
    for (const received of [0, 3]) {
      const { worker, primary, settle, cable } = pair()
      worker.session.tell('note', [1])
      worker.session.tell('note', [2])
      settle()
      primary.session.beat()
      settle()
      cable.cut()
      worker.ends.length = 0
      expect(worker.session.attach(cable.worker as WireEnd, Reflect.get(worker.session, 'decoder'), received)).toBe(
        false,
      )
      expect(worker.ends).toEqual(['cannot_resume'])
    }
  })
})
