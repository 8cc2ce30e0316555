import { beforeEach, describe, expect, test } from 'bun:test'
import { micros } from '../../server/core/money'
import type { UpstreamFailure } from '../../server/core/providers/provider'
import { err, ok } from '../../server/core/result'
import { NO_TELEMETRY } from '../../server/core/telemetry/telemetry'
import { failOver } from '../../server/pipeline/search/fail-over'
import { FixtureProvider } from '../support/harness'
import { SOMEBODY } from '../support/somebody'

class Named extends FixtureProvider<string> {
  override readonly name: string

  constructor(name: string) {
    super()
    this.name = name
    this.answer = async () => ok({ body: name })
  }

  failing(kind: UpstreamFailure['kind'], more: Partial<UpstreamFailure> = {}): void {
    this.answer = async () => err({ kind, reason: `${this.name} ${kind}`, ...more })
  }
}

let paid: Named
let free: Named
let last: Named
let troubles: string[]
const never = new AbortController().signal

beforeEach(() => {
  paid = new Named('paid')
  free = new Named('free')
  last = new Named('last')
  troubles = []
})

const chain = (timeoutMs = 1_000, creditBuysPaid = true) =>
  failOver(
    [
      { provider: paid, paid: true },
      { provider: free, paid: false },
      { provider: last, paid: false },
    ],
    {
      timeoutMs,
      creditBuysPaid,
      telemetry: NO_TELEMETRY,
      onTrouble: (name, reason) => troubles.push(`${name}: ${reason}`),
    },
  )
const bodyOf = async (provider = chain(), signal = never) => {
  const answer = await provider.call('q', signal, SOMEBODY)
  return answer.ok ? answer.value.body : answer.error
}

test('an answer says what the source that gave it costs; one inside the gateway costs nothing', async () => {
  const costs = failOver(
    [
      { provider: Object.assign(paid, { cost: micros(3000) }), paid: true },
      { provider: Object.assign(free, { isLocal: true as const }), paid: false },
    ],
    { timeoutMs: 1_000, creditBuysPaid: true, telemetry: NO_TELEMETRY, onTrouble: () => undefined },
  )
  const cost = async () => {
    const answer = await costs.call('q', never, SOMEBODY)
    return answer.ok ? answer.value.cost : answer.error
  }
  expect(await cost()).toBe(micros(3000))
  paid.failing('error')
  expect(await cost()).toBe(micros(0))
})

test('returns the answer of the first source that succeeds, and calls no other', async () => {
  expect(await bodyOf()).toBe('paid')
  expect([paid.asked.length, free.asked.length, last.asked.length]).toEqual([1, 0, 0])
})

test.each(['error', 'unavailable', 'timeout', 'rate_limited'] as const)(
  'after %s the next one is called, once',
  async (kind) => {
    paid.failing(kind)
    free.failing(kind)
    expect(await bodyOf()).toBe('last')
    expect([paid.asked.length, free.asked.length, last.asked.length]).toEqual([1, 1, 1])
    expect(troubles).toEqual([`paid: paid ${kind}`, `free: free ${kind}`])
  },
)

test('a request that the gateway refuses fails at once, and no other source is called', async () => {
  paid.failing('refused')
  expect(await bodyOf()).toMatchObject({ kind: 'refused' })
  expect([free.asked.length, troubles.length]).toEqual([0, 0])
})

test('a source that throws counts as failed', async () => {
  paid.answer = () => Promise.reject(new Error('broken'))
  expect(await bodyOf()).toBe('free')
})

test('when all sources fail, the result is the failure of the first', async () => {
  paid.failing('rate_limited', { retryAfterSeconds: 9 })
  free.failing('error')
  last.failing('unavailable')
  expect(await bodyOf()).toEqual({ kind: 'rate_limited', reason: 'paid rate_limited', retryAfterSeconds: 9 })
  expect(troubles).toHaveLength(2)
})

test('an invalid request fails at once', async () => {
  paid.failing('invalid_input', { input: { param: 'goggles', rule: 'x' } })
  expect(await bodyOf()).toMatchObject({ kind: 'invalid_input' })
  expect(free.asked).toHaveLength(0)
})

describe('the time limit', () => {
  test('is shared: a source that hangs is aborted and leaves time for the others', async () => {
    let stopped = false
    paid.answer = (_, signal) =>
      new Promise(() => signal.addEventListener('abort', () => (stopped = true), { once: true }))
    expect(await bodyOf(chain(1_500))).toBe('free')
    expect(stopped).toBe(true)
  })

  test('applies to all sources together: three that hang take no longer than one', async () => {
    for (const source of [paid, free, last]) source.answer = () => new Promise(() => undefined)
    const before = performance.now()
    expect(await bodyOf(chain(2_000))).toMatchObject({ kind: 'timeout' })
    // With a separate limit each they would take six seconds.
    expect(performance.now() - before).toBeLessThan(5_900)
  })

  test('ends when the caller hangs up: no further source is called', async () => {
    const abort = new AbortController()
    paid.answer = () => new Promise(() => undefined)
    const waiting = bodyOf(chain(5_000), abort.signal)
    abort.abort()
    expect(await waiting).toMatchObject({ kind: 'timeout' })
    expect(free.asked).toHaveLength(0)
  })
})

describe('ready', () => {
  test('while any source is', async () => {
    paid.isReady = false
    free.isReady = false
    expect(await chain().ready()).toBe(true)
    last.isReady = false
    expect(await chain().ready()).toBe(false)
  })
})

describe('signup credit (spec D4)', () => {
  test('buys the free sources only, in their order', async () => {
    const { onCredit } = chain(1_000, false)
    free.failing('error')
    expect(onCredit && (await bodyOf(onCredit))).toBe('last')
    expect(paid.asked).toHaveLength(0)
  })

  test('buys everything if the operator allows it, or if all sources are free', () => {
    expect(chain(1_000, true).onCredit).toBeUndefined()
    const options = { timeoutMs: 1, creditBuysPaid: false, telemetry: NO_TELEMETRY, onTrouble: () => undefined }
    expect(failOver([{ provider: free, paid: false }], options).onCredit).toBeUndefined()
  })

  test('buys nothing if all sources cost money', () => {
    const options = { timeoutMs: 1, creditBuysPaid: false, telemetry: NO_TELEMETRY, onTrouble: () => undefined }
    expect(failOver([{ provider: paid, paid: true }], options).onCredit).toBeNull()
  })
})
