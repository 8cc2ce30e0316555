import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { BodyParser } from '../../../server/adapters/models/body-parser'
import { digestOf } from '../../../server/core/payments/binding'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/chat-completions-wire'
import { type Harness, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
setDefaultTimeout(60_000)

const MIB = 1024 * 1024
const PATH = { model: null, stream: false, events: false }
const bytes = (text: string) => new TextEncoder().encode(text)
const chat = (more: string) =>
  `{"model":"sandbox/echo","max_tokens":5,"messages":[{"role":"user","content":"Hello"}]${more}}`
const LONG_TEXT = 'a'.repeat(2 * MIB)

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(async () => {
  await gateway.close(true)
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

/** As they come from the wire: of memory of their own, and as views on memory that others share. */
function inChunks(whole: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const third = Math.floor(whole.length / 3)
  return [whole.slice(0, third), whole.subarray(third, 2 * third), whole.subarray(2 * third)]
}

describe('a body over 1 MiB is read off the thread that serves (issue 14.12)', () => {
  test('what is read of it is the same, to the byte', async () => {
    const desk = new BodyParser()
    for (const more of [`,"user":"${LONG_TEXT}"`, `,"stream":true,"user":"${LONG_TEXT}é\\"}{"`]) {
      const here = CHAT_COMPLETIONS.read(bytes(chat(more)), PATH)
      const there = await desk.read(CHAT_COMPLETIONS, inChunks(bytes(chat(more))), PATH)
      if (!here.ok || !there.ok) throw new Error('refused')
      expect(there.value.request).toEqual(here.value)
      expect(there.value.digest).toBe(digestOf(bytes(chat(more))))
    }
  })

  test('a short body of many parts is read there too', async () => {
    const desk = new BodyParser()
    const body = bytes(chat(`,"metadata":{${Array.from({ length: 20_000 }, (_, i) => `"m${i}":1`).join(',')}}`))
    const read = await desk.read(CHAT_COMPLETIONS, inChunks(body), PATH)
    expect(read).toMatchObject({ ok: true, value: { digest: expect.any(String) } })
  })

  test('nesting, members and a broken end behind the first MiB are refused as in a short body', async () => {
    const desk = new BodyParser()
    const refusal = async (more: string) => {
      const read = await desk.read(CHAT_COMPLETIONS, inChunks(bytes(chat(`,"user":"${LONG_TEXT}"${more}`))), PATH)
      return read.ok ? 'read' : read.error.code
    }
    expect(await refusal(`,"metadata":${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe('invalid_request')
    expect(await refusal(`,"metadata":[${'{},'.repeat(100_000)}{}]`)).toBe('invalid_request')
    expect(await refusal(Array.from({ length: 1001 }, (_, i) => `,"m${i}":1`).join(''))).toBe('invalid_request')
    expect(await refusal(',"user":"twice"')).toBe('invalid_request')
    expect(await refusal(',')).toBe('json_parse_error')
  })

  test('many at once are read one after the other; what finds no room is 503, and the next is read again', async () => {
    const desk = new BodyParser()
    const read = () => desk.read(CHAT_COMPLETIONS, inChunks(bytes(chat(`,"user":"${LONG_TEXT}"`))), PATH)
    const outcomes = await Promise.all(Array.from({ length: 20 }, read))
    expect(outcomes.filter(({ ok }) => ok).length).toBe(17)
    for (const outcome of outcomes)
      if (!outcome.ok) expect(outcome.error).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 })
    expect((await read()).ok).toBe(true)
  })

  test('a thread that dies takes one body with it, and no other', async () => {
    const desk = new BodyParser(new URL('../../fixtures/dying-worker.ts', import.meta.url))
    const read = () => desk.read(CHAT_COMPLETIONS, inChunks(bytes(chat(`,"user":"${LONG_TEXT}"`))), PATH)
    const outcomes = await Promise.all([read(), read()])
    expect(outcomes.map((outcome) => (outcome.ok ? 'read' : outcome.error.code))).toEqual([
      'service_unavailable',
      'service_unavailable',
    ])
  })

  test('over HTTP: in the one error shape, with its place given back', async () => {
    const account = await gateway.account(10)
    const { secret } = await gateway.key(account)
    const send = (body: string, headers = {}) =>
      gateway.as(secret, '/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
    const deep = await send(chat(`,"user":"${LONG_TEXT}","metadata":${'['.repeat(200)}${']'.repeat(200)}`))
    expect([deep.status, await deep.json()]).toMatchObject([400, { error: { code: 'invalid_request' } }])
    const numbers = await send(chat(`,"logit_bias":[${'0.25,'.repeat(400_000)}1]`))
    expect(numbers.status).toBe(400) // the sandbox's own bound, behind ours
    expect(numbers.headers.get('x-ratelimit-remaining-concurrency')).toBe(
      numbers.headers.get('x-ratelimit-limit-concurrency'),
    )
  })
})
