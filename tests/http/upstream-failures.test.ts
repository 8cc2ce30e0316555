import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import type { Account } from '../../server/core/accounts/account'
import type { UpstreamFailure } from '../../server/core/providers/provider'
import { err, ok } from '../../server/core/result'
import { NO_TELEMETRY } from '../../server/core/telemetry/telemetry'
import { callUpstream, toFailure } from '../../server/pipeline/call-upstream'
import { FixtureProvider, type Harness, type MadeKey, openHarness } from '../support/harness'
import { SOMEBODY } from '../support/somebody'
import { CONTEXT_CALL, endAndReconcile, IMAGES_CALL, logWritten, PRICE, refusalOf, verdictOf } from './wire'

const MIB = 1024 * 1024
const ENDS = { timeoutMs: 1, stop: new AbortController().signal, telemetry: NO_TELEMETRY }
const GOOD = async () => ok({ body: '{"fixture":true}' })

describe('upstream failures (spec 7, spec D2, D4)', () => {
  let gateway: Harness
  let account: Account
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
  })
  beforeEach(async () => {
    account = await gateway.account()
    key = await gateway.key(account)
    gateway.images.answer = GOOD
  })
  afterAll(() => endAndReconcile(gateway))

  const call = (init: RequestInit = {}) => gateway.as(key, IMAGES_CALL, init)
  const failing = (problem: UpstreamFailure) => {
    gateway.images.answer = async () => err(problem)
    return call()
  }
  const expectUncharged = async () => {
    const balance = await gateway.core.ledger.balance(account.id)
    expect({ posted: Number(balance?.posted), held: Number(balance?.held) }).toEqual({ posted: 2_000_000, held: 0 })
    const own = await gateway.core.credentials.byAccount(account.id)
    for (const { poolId } of own) expect(Number((await gateway.core.ledger.pool(poolId))?.held)).toBe(0)
  }

  test.each<[UpstreamFailure['kind'], number, string, string]>([
    ['error', 502, 'upstream_error', 'upstream_error'],
    ['unavailable', 503, 'upstream_unavailable', 'upstream_error'],
    ['timeout', 504, 'upstream_timeout', 'upstream_error'],
    ['rate_limited', 429, 'upstream_rate_limit', 'rate_limit_error'],
  ])('%s is %d %s, uncharged, with its hold released', async (kind, status, code, type) => {
    const answer = await failing({ kind, reason: 'engine 10.0.0.9 said no' })
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    const refusal = await refusalOf(answer)
    expect(refusal).toMatchObject({ status, code, type })
    expect(JSON.stringify(refusal)).not.toContain('10.0.0.9')
    expect(gateway.logged.join('')).toContain('engine 10.0.0.9 said no')
    expect(gateway.logged.at(-1)).toContain(`"operation":"image-search","code":"${code}","upstream":"fixture"`)
    await expectUncharged()
  })

  test('input that only the source can reject is an uncharged 400 that says what to change', async () => {
    const input = { param: 'goggles', rule: 'entry 1: the address answers 404' }
    const refusal = await refusalOf(await failing({ kind: 'invalid_input', reason: 'no goggle', input }))
    expect(refusal).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'goggles' })
    expect(refusal.message).toBe('goggles entry 1: the address answers 404')
    await expectUncharged()
  })

  test('LLM context fails the same way', async () => {
    gateway.context.answer = async () => err({ kind: 'error', reason: 'no' })
    expect(await verdictOf(gateway.as(key, CONTEXT_CALL))).toBe('502 upstream_error')
    await expectUncharged()
  })

  test("an upstream's 429 says whose limit was reached, with a Retry-After of at least a second (spec 7 rule 1)", async () => {
    const answer = await failing({ kind: 'rate_limited', reason: 'busy' })
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await refusalOf(answer)).toMatchObject({ limit_source: 'upstream', retry_after: 1 })
  })

  test("an upstream's own Retry-After is passed on", async () => {
    for (const kind of ['rate_limited', 'unavailable'] as const) {
      const answer = await failing({ kind, reason: 'busy', retryAfterSeconds: 17 })
      expect(answer.headers.get('retry-after')).toBe('17')
      expect((await refusalOf(answer)).retry_after).toBe(17)
    }
  })

  test('a provider that throws is 502 upstream_error, uncharged; its message is only logged', async () => {
    gateway.images.answer = async () => {
      throw new Error('token sk-secret refused')
    }
    const answer = await call()
    const refusal = await refusalOf(answer)
    expect(refusal).toMatchObject({ status: 502, code: 'upstream_error' })
    expect(refusal.message).not.toContain('sk-secret')
    await expectUncharged()
  })

  describe('an answer over 16 MiB (spec D2)', () => {
    test.each<[string, () => string | Uint8Array<ArrayBuffer>]>([
      ['as text', () => 'x'.repeat(16 * MIB + 1)],
      ['as bytes', () => new Uint8Array(16 * MIB + 1)],
      ['as text whose bytes are more than its characters', () => 'ü'.repeat(8 * MIB + 1)],
    ])('%s is 502, uncharged', async (_, body) => {
      gateway.images.answer = async () => ok({ body: body() })
      expect(await verdictOf(call())).toBe('502 upstream_error')
      await expectUncharged()
    })

    test('one of exactly 16 MiB is served', async () => {
      gateway.images.answer = async () => ok({ body: 'x'.repeat(16 * MIB) })
      const answer = await call()
      expect(answer.status).toBe(200)
      expect((await answer.arrayBuffer()).byteLength).toBe(16 * MIB)
    })
  })

  describe('an error body of the upstream (spec 7 rule 2)', () => {
    const passThrough = { status: 422, contentType: 'application/problem+json', body: '{"type":"ErrorResponse"}' }

    test('is passed on unchanged with our headers, uncharged', async () => {
      const answer = await failing({ kind: 'error', reason: '422', passThrough })
      expect(answer.status).toBe(422)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(await answer.text()).toBe('{"type":"ErrorResponse"}')
      expect(answer.headers.get('x-gateway-request-id')).toStartWith('req_')
      expect(answer.headers.get('x-ratelimit-limit-requests')).not.toBeNull()
      expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      await expectUncharged()
    })

    test.each([
      ['text/html', '<script>alert(1)</script>'],
      ['application/xhtml+xml', '<html/>'],
      ['image/svg+xml', '<svg onload="alert(1)"/>'],
      ['text/javascript', 'alert(1)'],
      ['multipart/mixed; boundary=x', '--x'],
      ['application/json, text/html', '<script>'],
      ['text/plain;charset=utf-7', '+ADw-script'],
    ])('of type %s is passed on as plain text: no page runs on our origin', async (contentType, body) => {
      const answer = await failing({ kind: 'error', reason: '422', passThrough: { status: 422, contentType, body } })
      expect(answer.status).toBe(422)
      expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(await answer.text()).toBe(body)
    })

    test('a 429 of the upstream passes through with a Retry-After (spec 7 rule 1)', async () => {
      const slow = { ...passThrough, status: 429 }
      const answer = await failing({ kind: 'rate_limited', reason: '429', retryAfterSeconds: 9, passThrough: slow })
      expect(answer.status).toBe(429)
      expect(answer.headers.get('retry-after')).toBe('9')
      const unsaid = await failing({ kind: 'rate_limited', reason: '429', passThrough: slow })
      expect(unsaid.headers.get('retry-after')).toBe('1')
    })
  })

  describe('the caller hangs up (spec D4)', () => {
    test('before the call: nothing is charged, and no upstream is called', async () => {
      const before = gateway.images.asked.length
      await call({ signal: AbortSignal.abort() })
      await expectUncharged()
      expect(gateway.images.asked).toHaveLength(before)
    })

    test('a local source, which costs nothing, is stopped and nothing is charged', async () => {
      const abort = new AbortController()
      let told = false
      gateway.images.isLocal = true
      gateway.images.answer = async (_, signal) => {
        signal.addEventListener('abort', () => (told = true))
        abort.abort()
        return ok({ body: '{"late":true}' })
      }
      await call({ signal: abort.signal })
      delete gateway.images.isLocal
      expect(told).toBe(true)
      await expectUncharged()
    })
  })

  test.each([401, 402, 403])('a %d about our own credential becomes a 503', async (status) => {
    const passThrough = { status, contentType: 'application/json', body: '{"secret":"plan"}' }
    const answer = await failing({ kind: 'error', reason: 'not entitled', passThrough })
    expect(answer.status).toBe(503)
    const text = await answer.text()
    expect(text).toContain('upstream_unavailable')
    expect(text).not.toContain('plan')
    await expectUncharged()
  })

  describe('the deadline of a call', () => {
    test('ends it with 504 also when the provider does not listen, or throws at the abort', async () => {
      const never = new FixtureProvider<string>()
      never.answer = () => new Promise(() => undefined)
      const deaf = await callUpstream(never, 'q', SOMEBODY, ENDS)
      expect(deaf.ok ? null : toFailure(deaf.error).code).toBe('upstream_timeout')
      never.answer = (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
      const loud = await callUpstream(never, 'q', SOMEBODY, ENDS)
      expect(loud.ok ? null : toFailure(loud.error).code).toBe('upstream_timeout')
    })

    test('is not needed by a call whose observer throws: it ends at once', async () => {
      const telemetry = {
        ...NO_TELEMETRY,
        upstreamEnded: () => {
          throw new Error('broken observer')
        },
      }
      const call = callUpstream(new FixtureProvider<null>(), null, SOMEBODY, { ...ENDS, timeoutMs: 60_000, telemetry })
      await expect(call).rejects.toThrow('broken observer')
    })

    test('aborts the provider, whose timeout is 504 upstream_timeout', async () => {
      const provider = new FixtureProvider<null>()
      provider.answer = (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(err({ kind: 'timeout', reason: 'aborted' })))
        })
      const outcome = await callUpstream(provider, null, SOMEBODY, ENDS)
      expect(outcome.ok ? null : toFailure(outcome.error).code).toBe('upstream_timeout')
    })
  })

  test('a failure is in the log of calls with its status and code, at no cost', async () => {
    const answer = await failing({ kind: 'unavailable', reason: 'down' })
    await logWritten(gateway)
    const row = await (await gateway.as(key, `/v1/usage/${answer.headers.get('x-gateway-request-id')}`)).json()
    expect(row).toMatchObject({ status: 503, code: 'upstream_unavailable', cost_micros_usd: 0, charge: null })
  })

  test('a success after failures is charged once', async () => {
    await failing({ kind: 'error', reason: 'no' })
    gateway.images.answer = GOOD
    expect((await call()).headers.get('x-cost-micros-usd')).toBe(String(PRICE))
    expect(Number((await gateway.core.ledger.balance(account.id))?.posted)).toBe(2_000_000 - PRICE)
  })
})

describe('a charge that cannot be recorded (spec D2, D4)', () => {
  test('is 503 service_unavailable with Retry-After; no answer goes out, nothing is charged or held', async () => {
    const gateway = await openHarness()
    const account = await gateway.account()
    const key = await gateway.key(account)
    const full = spyOn(gateway.core.journal, 'append')
    full.mockImplementationOnce((_, onEnd) =>
      onEnd({ kind: 'refused', reason: 'no space left on device', constraint: null }),
    )
    const answer = await gateway.as(key, IMAGES_CALL)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    expect(await refusalOf(answer)).toMatchObject({
      status: 503,
      type: 'api_error',
      code: 'service_unavailable',
      retry_after: 1,
    })
    const balance = await gateway.core.ledger.balance(account.id)
    expect({ posted: Number(balance?.posted), held: Number(balance?.held) }).toEqual({ posted: 2_000_000, held: 0 })
    expect(full).toHaveBeenCalledTimes(1)
    await endAndReconcile(gateway)
  })
})
