import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { openIndexClient } from '../../server/adapters/websearch/local/index-client'
import type { IndexAnswer } from '../../server/adapters/websearch/local/index-thread'
import { FairQueue } from '../../server/core/fair-queue'
import { FakeThreads, searchFor } from '../support/fake-threads'

const CALLERS = ['a', 'b', 'c', 'd']
const caller = fc.constantFrom(...CALLERS)
const pick = fc.nat(30)
const step = fc.oneof(
  // One caller floods.
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), caller: fc.constant('a') }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), caller }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('answer' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('abort' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('open' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('die' as const), pick }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Search {
  readonly q: string
  readonly caller: string
  readonly abort: AbortController
  isServed: boolean
  readonly answers: IndexAnswer[]
}

/** A client over fake threads, and what must hold of it whatever happens. */
class Run {
  readonly threads = new FakeThreads()
  readonly searches: Search[] = []
  readonly client = openIndexClient({
    indexPath: '',
    maxThreads: 2,
    start: this.threads.start,
  })
  /** Per caller that waits: how often each other was served since it began to, or was served itself. */
  readonly passed = new Map<string, Map<string, number>>()
  /** Searches that may be told that their thread was lost. */
  readonly mayBeLost = new Set<string>()

  constructor() {
    this.threads.onStart = () => {
      const others = this.threads.alive.length
      expect(others).toBeLessThan(2)
      if (others > 0) expect(this.waiting().length).toBeGreaterThan(0)
    }
    this.threads.onAsked = (q) => this.served(q)
  }

  waiting(): Search[] {
    return this.searches.filter((one) => !one.isServed && one.answers.length === 0 && !one.abort.signal.aborted)
  }

  served(q: string): void {
    const first = this.waiting().find((one) => one.caller === q[0])
    expect(first?.q).toBe(q)
    if (first) first.isServed = true
    this.turn(q)
  }

  /** The caller of `q` had its turn. */
  turn(q: string): void {
    this.passed.delete(String(q[0]))
    for (const other of new Set(this.waiting().map((one) => one.caller))) {
      if (other === q[0]) continue
      const counts = this.passed.get(other) ?? new Map<string, number>()
      this.passed.set(other, counts.set(String(q[0]), (counts.get(String(q[0])) ?? 0) + 1))
      expect(Math.max(...counts.values())).toBe(1)
    }
  }

  async take(act: Step): Promise<void> {
    if (act.do === 'ask') this.ask(act.caller)
    else if (act.do === 'open') this.threads.alive.find(({ state }) => state === 'opening')?.open()
    else if (act.do === 'abort') {
      const open = this.searches.filter((one) => one.answers.length === 0)
      open[act.pick % Math.max(1, open.length)]?.abort.abort()
    } else if (act.do === 'answer') {
      const busy = this.threads.alive.filter(({ working }) => working !== null)
      busy[act.pick % Math.max(1, busy.length)]?.answer()
    } else await this.kill(act.pick)
    await settled()
    for (const [waits] of this.passed)
      if (!this.waiting().some((one) => one.caller === waits)) this.passed.delete(waits)
  }

  ask(by: string): void {
    const search: Search = {
      q: `${by}${this.searches.length}`,
      caller: by,
      abort: new AbortController(),
      isServed: false,
      answers: [],
    }
    this.searches.push(search)
    void this.client.ask(searchFor(search.q), by, search.abort.signal).then((answer) => search.answers.push(answer))
  }

  async kill(at: number): Promise<void> {
    const { alive } = this.threads
    const victim = alive[at % Math.max(1, alive.length)]
    if (!victim) return
    if (victim.working !== null) this.mayBeLost.add(victim.working)
    const isOnlyOne = victim.state === 'opening' && alive.length === 1
    const waited = this.waiting()
    victim.die()
    await settled()
    // Without another one, a thread that cannot begin fails the one search whose turn it is.
    const failed = isOnlyOne ? waited.filter(({ answers }) => answers.length > 0) : []
    expect(failed.length).toBe(isOnlyOne && waited.length > 0 ? 1 : 0)
    for (const { q } of failed) {
      this.mayBeLost.add(q)
      this.turn(q)
    }
  }

  /** Closes, and judges every answer. */
  async end(): Promise<void> {
    const before = new Set(this.searches.filter((one) => one.answers.length > 0))
    await this.client.close()
    await settled()
    expect(this.threads.alive).toEqual([])
    expect(new Set(this.threads.asked).size).toBe(this.threads.asked.length)
    for (const { q, abort, answers, isServed } of this.searches) {
      const [answer] = answers
      expect(answers).toHaveLength(1)
      if (answer?.ok) expect([isServed, answer.value.body]).toEqual([true, JSON.stringify(q)])
      else if (answer?.error.kind === 'timeout') expect(abort.signal.aborted).toBe(true)
      else expect(answer?.error.reason === 'the index is closed' || this.mayBeLost.has(q)).toBe(true)
    }
    for (const { answers } of before) expect(answers[0]).not.toMatchObject({ error: { reason: 'the index is closed' } })
  }
}

/** Lets what was answered arrive. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await Promise.resolve()
}

describe('searches of many callers on one index', () => {
  test('while a caller waits, each other is served at most once; none is lost or answered twice, whatever dies or ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), async (steps) => {
        const run = new Run()
        for (const act of steps) await run.take(act)
        await run.end()
      }),
      { numRuns: 300 },
    )
  })

  test('with any bounds, nothing waits above them, and only a line of the longest is turned away', () => {
    const act = fc.oneof({ weight: 3, arbitrary: caller }, { weight: 1, arbitrary: fc.constant(null) })
    const bounds = fc.record({ perCaller: fc.integer({ min: 1, max: 5 }), inAll: fc.integer({ min: 1, max: 9 }) })
    fc.assert(
      fc.property(bounds, fc.array(act, { maxLength: 80 }), (most, acts) => {
        const queue = new FairQueue<{ readonly caller: string; readonly at: number }>(most)
        const lines = new Map(CALLERS.map((name) => [name, [] as number[]]))
        const line = (name: string): number[] => lines.get(name) ?? []
        for (const [at, by] of acts.entries()) {
          if (by === null) {
            const taken = queue.take()
            expect(taken === null).toBe([...lines.values()].every((one) => one.length === 0))
            if (taken) expect(line(taken.caller).shift()).toBe(taken.at)
            continue
          }
          const longest = Math.max(...[...lines.values()].map((one) => one.length))
          const refusal = queue.add(by, { caller: by, at })
          line(by).push(at)
          if (refusal) {
            const { item } = refusal
            expect(line(item.caller).pop()).toBe(item.at)
            // A caller who is turned away has the maximum share; one with less loses nothing.
            expect(line(item.caller).length + 1).toBeGreaterThanOrEqual(
              refusal.by === 'inAll' ? longest : most.perCaller,
            )
          }
          expect(Math.max(...[...lines.values()].map((one) => one.length))).toBeLessThanOrEqual(most.perCaller)
          expect(queue.size).toBe([...lines.values()].flat().length)
          expect(queue.size).toBeLessThanOrEqual(most.inAll)
        }
      }),
      { numRuns: 300 },
    )
  })
})
