import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { BytesInProgress } from '../../../server/core/limits/bytes-in-progress'
import { type Harness, type MadeKey, openHarness, WIDE } from '../../support/harness'
import { endAndReconcile } from '../wire'

const BODY = JSON.stringify({ model: 'sandbox/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] })

/** Each way out of a call that is not served, on a limit of one call at a time. */
describe.each([false, true])('the slot of a call that ends early; by a worker: %p', (byWorker) => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness({ byWorker })
    key = await gateway.key(await gateway.account(0, { ...WIDE, concurrency: 1 }))
  })
  afterAll(() => endAndReconcile(gateway))

  const chat = (body: BodyInit = BODY, headers: Record<string, string> = {}) =>
    gateway.as(key, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  /** The status, twice. After each, the one slot is there for the next call. */
  const twice = async (call: () => Promise<Response>) => {
    const found: number[] = []
    for (let calls = 0; calls < 2; calls++) {
      found.push((await call()).status)
      const next = await chat()
      found.push(next.status)
      expect(next.headers.get('x-ratelimit-remaining-concurrency')).toBe('1')
    }
    return found
  }

  test('wrong options', async () => {
    expect(await twice(() => chat(BODY, { 'x-max-price-usd': 'much' }))).toEqual([400, 200, 400, 200])
  })

  test('a body that is missing, no JSON, or of an unknown model', async () => {
    expect(await twice(() => chat(''))).toEqual([400, 200, 400, 200])
    expect(await twice(() => chat('{'))).toEqual([400, 200, 400, 200])
    expect(await twice(() => chat(BODY.replace('echo', 'none')))).toEqual([404, 200, 404, 200])
  })

  test('a path of no method, and an endpoint that does not exist', async () => {
    const at = (path: string) => () => gateway.as(key, path, { method: 'POST', body: BODY })
    expect(await twice(at('/v1beta/models/x:nonsense'))).toEqual([405, 200, 405, 200])
    expect(await twice(at('/v1/nothing'))).toEqual([404, 200, 404, 200])
  })

  test('no memory for its body', async () => {
    const full = async () => {
      const spy = spyOn(BytesInProgress.prototype, 'lacks').mockReturnValue('all')
      const answer = await chat()
      spy.mockRestore()
      return answer
    }
    expect(await twice(full)).toEqual([503, 200, 503, 200])
  })

  test('a fault before it begins', async () => {
    const get = Headers.prototype.get
    const faulty = async () => {
      const spy = spyOn(Headers.prototype, 'get').mockImplementation(function (this: Headers, name: string) {
        if (name === 'x-max-price-usd') throw new Error('a fault')
        return get.call(this, name)
      })
      const answer = await chat()
      spy.mockRestore()
      return answer
    }
    expect(await twice(faulty)).toEqual([500, 200, 500, 200])
  })
})
