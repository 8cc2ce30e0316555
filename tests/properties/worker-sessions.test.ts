import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Frame, KINDS, type Payload } from '../../server/adapters/workers/frames'
import { Session } from '../../server/adapters/workers/session'
import { Cable, Turns } from '../support/doubles/worker-wire'

const side = fc.constantFrom('worker' as const, 'primary' as const)
const size = fc.oneof({ weight: 8, arbitrary: fc.nat(80) }, { weight: 1, arbitrary: fc.nat(7000) })
const bytes = fc.oneof(fc.nat(40), fc.nat(9000))
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      kind: fc.constantFrom('capture' as const, 'keep' as const, 'hold' as const, 'release' as const, 'admit' as const),
      size,
      times: fc.oneof({ weight: 19, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(400) }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('push' as const), size }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('answer' as const), pick: fc.nat(20), size }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('beat' as const), side }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('turn' as const), side }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('deliver' as const), side, bytes }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('drain' as const), side, bytes }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('repeat' as const), side }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('cut' as const),
      noticedBy: fc.subarray(['worker', 'primary'] as const, { minLength: 1 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('connect' as const), bytes }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Sent {
  readonly kind: string
  readonly payload: Payload
}

/** One process with its session. */
class Process {
  readonly turns = new Turns()
  readonly sent: Sent[] = []
  readonly received: Frame[] = []
  /** Requests of the other side that wait here. */
  readonly open: Frame[] = []
  readonly breaks: string[] = []
  readonly cutOffs: string[] = []
  readonly session: Session

  constructor(name: 'worker' | 'primary') {
    this.session = new Session({
      side: name,
      epoch: 3,
      now: () => 0,
      later: this.turns.later,
      onFrame: (frame) => {
        this.received.push(frame)
        if (frame.request > 0) this.open.push(frame)
      },
      onBreak: (reason) => this.breaks.push(reason),
      onCutOff: (reason) => this.cutOffs.push(reason),
    })
  }
}

class Run {
  readonly worker = new Process('worker')
  readonly primary = new Process('primary')
  cable: Cable | null = null
  private count = 0
  /** Each request by its mark: its answers. */
  readonly answers = new Map<number, (Payload | null)[]>()
  readonly given = new Map<number, Payload>()

  step(one: Step): void {
    const { cable } = this
    if (one.do === 'ask')
      for (let i = 0; i < one.times; i++) this.ask('worker', one.kind, Math.ceil(one.size / one.times))
    else if (one.do === 'push') this.ask('primary', 'push', one.size)
    else if (one.do === 'answer') this.answer(one.pick, one.size)
    else if (one.do === 'beat') this[one.side].session.beat()
    else if (one.do === 'turn') this[one.side].turns.run()
    else if (one.do === 'deliver') cable?.deliver(one.side, one.bytes)
    else if (one.do === 'drain') cable?.[one.side].drain(one.bytes)
    else if (one.do === 'repeat') cable?.[one.side].repeat(cable.other(one.side))
    else if (one.do === 'connect') this.cable ??= new Cable(this.worker.session, this.primary.session, one.bytes)
    else {
      cable?.cut(one.noticedBy)
      this.cable = null
    }
  }

  private ask(
    from: 'worker' | 'primary',
    kind: 'capture' | 'keep' | 'hold' | 'release' | 'admit' | 'push',
    length: number,
  ) {
    const mark = ++this.count
    const payload = [mark, 'ü'.repeat(Math.min(length, KINDS[kind].maxBytes / 2 - 10))]
    const answers: (Payload | null)[] = []
    this.answers.set(mark, answers)
    this[from].sent.push({ kind, payload })
    this[from].session.ask(kind, payload, (answer) => answers.push(answer))
  }

  private answer(pick: number, length: number): void {
    for (const process of [this.primary, this.worker]) {
      const [frame] = process.open.splice(pick % Math.max(1, process.open.length), 1)
      if (!frame) continue
      const payload = [frame.payload[0], 'x'.repeat(length)]
      this.given.set(Number(frame.payload[0]), payload)
      expect(process.session.answer(frame.request, payload)).toBe(true)
      expect(process.session.answer(frame.request, payload)).toBe(false)
    }
  }

  /** Lets all arrive. */
  settle(): void {
    this.cable ??= new Cable(this.worker.session, this.primary.session)
    for (let quiet = 0; quiet < 3; quiet++) {
      for (const name of ['worker', 'primary'] as const) {
        this[name].turns.run()
        this.cable[name].drain(1_000_000)
        if (this.cable[name].inFlight > 0) quiet = 0
        this.cable.deliver(name)
        while (this[name].open.length > 0) this.answer(0, 1)
      }
    }
  }
}

const byOrder = (frames: readonly Sent[], order: number) =>
  frames
    .filter((one) => KINDS[one.kind as keyof typeof KINDS].order === order)
    .map(({ kind, payload }) => ({ kind, payload }))

test('whatever connections do, each frame arrives once, and those of one order in their order', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200, size: 'max' }), (steps) => {
      const run = new Run()
      for (const one of steps) run.step(one)
      run.settle()
      for (const [from, to] of [
        [run.worker, run.primary],
        [run.primary, run.worker],
      ] as const) {
        for (const order of [0, 1, 2]) expect(byOrder(to.received, order)).toEqual(byOrder(from.sent, order))
        expect(from.cutOffs).toEqual([])
        expect(from.breaks.filter((reason) => reason !== 'closed')).toEqual([])
      }
      for (const [mark, answers] of run.answers) expect(answers).toEqual([run.given.get(mark) ?? null])
      // All is acknowledged once both were asked to.
      for (const { session } of [run.worker, run.primary]) {
        session.beat()
        run.settle()
        expect(Reflect.get(session, 'outbox').frames).toBe(0)
        expect(Reflect.get(session, 'unanswered').size).toBe(0)
      }
    }),
    { numRuns: 400 },
  )
})
