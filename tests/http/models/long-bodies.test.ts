import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { BodyParser } from '../../../server/adapters/models/body-parser'
import { BytesInProgress } from '../../../server/core/limits/bytes-in-progress'
import { digestOf } from '../../../server/core/payments/binding'
import { Intake } from '../../../server/http/middleware/input/intake'
import { readJsonChunks } from '../../../server/http/middleware/input/json-body'
import type { ReceivedBody } from '../../../server/pipeline/models/body-reader'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'
import { RESPONSES } from '../../../server/pipeline/models/wires/openai/responses/responses-wire'
import { type Harness, openHarness } from '../../support/harness'
import { endAndReconcile } from '../wire'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
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
afterAll(() => endAndReconcile(gateway))

/** As it comes from the wire: in memory of its own, and in views on memory that others share. */
function arrived(text: string, parts: number | null = null): ReceivedBody {
  const whole = bytes(text)
  const third = Math.floor(whole.length / 3)
  return { chunks: [whole.slice(0, third), whole.subarray(third, 2 * third), whole.subarray(2 * third)], parts }
}

describe('a body over 1 MiB is read off the thread that serves', () => {
  test('its readings are the same, to the byte', async () => {
    const parser = new BodyParser()
    for (const more of [`,"user":"${LONG_TEXT}"`, `,"stream":true,"user":"${LONG_TEXT}é\\"}{"`]) {
      const here = CHAT_COMPLETIONS.read(bytes(chat(more)), PATH)
      const there = await parser.read(CHAT_COMPLETIONS, arrived(chat(more)), PATH)
      if (!here.ok || !there.ok) throw new Error('refused')
      expect(there.value.request).toEqual(here.value)
      expect(there.value.digest).toBe(digestOf(bytes(chat(more))))
    }
  })

  test('a call of Responses comes back with the chat completion that it was written as', async () => {
    const parser = new BodyParser()
    const body = `{"model":"sandbox/echo","input":"Hello","instructions":"${LONG_TEXT}é"}`
    const here = RESPONSES.read(bytes(body), PATH)
    const there = await parser.read(RESPONSES, arrived(body), PATH)
    if (!here.ok || !there.ok) throw new Error('refused')
    expect(there.value.request).toEqual(here.value)
    expect(there.value.request.chat?.body.length).toBeGreaterThan(LONG_TEXT.length)
  })

  test('a short body is read there too if it has many parts or was not fully scanned', async () => {
    const parser = new BodyParser()
    const digests = [9, 20_000, null].map(async (parts) => {
      const read = await parser.read(CHAT_COMPLETIONS, arrived(chat(''), parts), PATH)
      return read.ok && read.value.digest
    })
    expect(await Promise.all(digests)).toEqual([null, digestOf(bytes(chat(''))), digestOf(bytes(chat('')))])
  })

  test('a body is scanned on arrival for all its parts, or not at all if its declared length is long', async () => {
    const intake = new Intake(new BytesInProgress({ subject: 8 * MIB, all: 8 * MIB }), { now: () => 0 })
    const partsOf = async (body: string, headers = {}) => {
      const request = new Request('http://gateway/', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
      const taken = await readJsonChunks({ request, intake, bodyOwner: 'address 127.0.0.1' }, 8 * MIB)
      return taken.ok ? taken.value.parts : 'refused'
    }
    // The object, its three members, the list, the message and its two members.
    expect(await partsOf(chat(''))).toBe(8)
    expect(await partsOf(chat(`,"user":"${'a'.repeat(100_000)}"`))).toBe(9)
    expect(await partsOf(chat(`,"user":"${LONG_TEXT}"`))).toBeNull()
    // A list in 1 MB that would keep the serving thread busy for 200 ms is read beside it.
    expect(await partsOf(chat(`,"modalities":[${'1,'.repeat(400_000)}1]`))).toBe(40_000)
    const long = { 'content-length': `${2 * MIB}` }
    expect(await partsOf(chat(`,"user":"${'a'.repeat(100_000)}"`), long)).toBeNull()
  })

  test('nesting, members and a broken end behind the first MiB are refused as in a short body', async () => {
    const parser = new BodyParser()
    const refusal = async (more: string) => {
      const read = await parser.read(CHAT_COMPLETIONS, arrived(chat(`,"user":"${LONG_TEXT}"${more}`)), PATH)
      return read.ok ? 'read' : read.error.code
    }
    expect(await refusal(`,"metadata":${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe('invalid_request')
    expect(await refusal(`,"metadata":[${'{},'.repeat(100_000)}{}]`)).toBe('invalid_request')
    expect(await refusal(Array.from({ length: 1001 }, (_, i) => `,"m${i}":1`).join(''))).toBe('invalid_request')
    expect(await refusal(',"user":"twice"')).toBe('invalid_request')
    expect(await refusal(',')).toBe('json_parse_error')
  })

  test('many at once are read one after another; one that does not fit is 503, and later ones are read', async () => {
    const parser = new BodyParser()
    const read = () => parser.read(CHAT_COMPLETIONS, arrived(chat(`,"user":"${LONG_TEXT}"`)), PATH)
    const outcomes = await Promise.all(Array.from({ length: 20 }, read))
    expect(outcomes.filter(({ ok }) => ok).length).toBe(17)
    for (const outcome of outcomes)
      if (!outcome.ok) expect(outcome.error).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 })
    expect((await read()).ok).toBe(true)
  })

  test('a thread that dies fails only the body that it was reading', async () => {
    const parser = new BodyParser(new URL('../../fixtures/dying-worker.ts', import.meta.url))
    const read = () => parser.read(CHAT_COMPLETIONS, arrived(chat(`,"user":"${LONG_TEXT}"`)), PATH)
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
