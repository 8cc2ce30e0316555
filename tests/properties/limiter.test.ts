import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MemoryWindows } from '../../server/adapters/stores/memory/windows'
import { Limiter, minuteOf, type Readings, type Subject, type Ticket } from '../../server/core/limits/limiter'
import { err } from '../../server/core/result'

const LIMITS = { rpm: 7, tpm: 50, concurrency: 3 }
const NAMES = ['a', 'b', 'c'] as const

const which = fc.subarray([...NAMES], { minLength: 1 })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('count' as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('enter' as const), which, tokens: fc.nat(60) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('finish' as const), pick: fc.nat(20), tokens: fc.nat(60) }) },
  // Forward and back, some over many minutes.
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.integer({ min: -150_000, max: 200_000 }) }),
  },
)

interface Taken {
  requests: number
  tokens: number
}

/** A place with its tokens, as a call comes by them: both or neither. */
function entered(limiter: Limiter, subjects: readonly Subject[], tokens: number) {
  const call = limiter.enter(subjects)
  if (!call.ok) return call
  const reserved = call.value.reserve(subjects, tokens)
  if (reserved === null) return call
  call.value.finish(0)
  return err(reserved)
}

describe('the limiter, whatever is taken and given back in whatever order', () => {
  test('never lets a subject over its limits in a minute, and a refused call has taken nothing', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 120, size: 'max' }), (steps) => {
        let now = 1_700_000_000_000
        let furthest = 0
        const limiter = new Limiter(new MemoryWindows(), { now: () => now })
        const subject = (name: string): Subject => ({ name, limits: LIMITS })
        const taken = new Map<string, Taken>()
        const of = (name: string): Taken => {
          const key = `${minuteOf(now)} ${name}`
          const found = taken.get(key) ?? { requests: 0, tokens: 0 }
          taken.set(key, found)
          return found
        }
        const places = new Map<string, number>(NAMES.map((name) => [name, 0]))
        const tickets: { ticket: Ticket; names: readonly string[]; open: boolean }[] = []
        const read = () => {
          const all: [string, Readings][] = []
          for (const name of NAMES) all.push([name, limiter.read([subject(name)])])
          return all.map(([name, readings]) => ({ name, ...readings }))
        }
        for (const act of steps) {
          // Two minutes behind the furthest at most: of so many the store knows what was taken.
          if (act.do === 'time') now = Math.max(now + act.ms, furthest - 120_000)
          furthest = Math.max(furthest, now)
          read()
          if (act.do === 'time') continue
          if (act.do === 'count') {
            const before = read()
            const refusal = limiter.countRequest(act.which.map(subject))
            if (refusal === null)
              for (const name of act.which) expect(++of(name).requests).toBeLessThanOrEqual(LIMITS.rpm)
            else {
              expect(act.which.some((name) => of(name).requests === LIMITS.rpm)).toBe(true)
              expect(read()).toEqual(before)
            }
          } else if (act.do === 'enter') {
            const before = read()
            const result = entered(limiter, act.which.map(subject), act.tokens)
            if (!result.ok) expect(read()).toEqual(before)
            else {
              tickets.push({ ticket: result.value, names: act.which, open: true })
              for (const name of act.which) {
                of(name).tokens += act.tokens
                const held = (places.get(name) ?? 0) + 1
                places.set(name, held)
                expect(held).toBeLessThanOrEqual(LIMITS.concurrency)
              }
            }
          } else {
            const chosen = tickets[act.pick % Math.max(1, tickets.length)]
            if (!chosen) continue
            chosen.ticket.finish(act.tokens)
            const after = read()
            chosen.ticket.finish(0)
            expect(read()).toEqual(after)
            if (chosen.open) for (const name of chosen.names) places.set(name, (places.get(name) ?? 0) - 1)
            chosen.open = false
          }
          for (const { name, concurrency, requests } of read()) {
            expect(concurrency.remaining).toBe(LIMITS.concurrency - (places.get(name) ?? 0))
            expect(requests.remaining).toBe(LIMITS.rpm - of(name).requests)
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  test('never lets the estimates of a minute over the tokens of a minute', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 30 }), (calls) => {
        const limits = { ...LIMITS, concurrency: 1000 }
        const limiter = new Limiter(new MemoryWindows(), { now: () => 1_700_000_000_000 })
        let used = 0
        for (const [estimate, actual] of calls) {
          const call = entered(limiter, [{ name: 'a', limits }], estimate)
          expect(call.ok).toBe(estimate === 0 || used + estimate <= limits.tpm)
          if (!call.ok) continue
          call.value.finish(actual)
          used += actual
        }
      }),
    )
  })
})
