import { afterAll, beforeAll, expect, test } from 'bun:test'
import { parseAddress } from '../../server/core/credentials/address'
import { makeId } from '../../server/core/ids'
import type { ModelBackend } from '../../server/core/models/backend'
import { ModelCatalogue } from '../../server/core/models/catalogue'
import { CHAT_COMPLETIONS } from '../../server/core/models/chat-completions-wire'
import { parseModelEntry } from '../../server/core/models/model-entry'
import { ZERO } from '../../server/core/money'
import { ok } from '../../server/core/result'
import { windowOf } from '../../server/gateway/admit'
import type { Admitted } from '../../server/gateway/call'
import { balanceFunding } from '../../server/gateway/funding/balance'
import type { ModelCounter } from '../../server/gateway/model-call'
import { OpenStreams } from '../../server/gateway/open-streams'
import type { Repeats } from '../../server/gateway/repeats'
import { serveModel } from '../../server/gateway/serve-model'
import { type Harness, openHarness } from '../support/harness'
import { reconcile } from '../support/reconcile'

const PARSED = parseModelEntry(
  {
    id: 'plain',
    upstream: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' },
    price: { input: 1, output: 10 },
    recharge_required: false,
  },
  { created: 1, priceVersion: () => 'v1' },
)

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(async () => {
  await gateway.close(true)
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

/** A plain call whose upstream gives these parts, one when it is asked for one, and then is silent until it is told to stop. */
async function call(parts: readonly string[], onSilent: () => void) {
  const { core, clock } = gateway
  const account = await gateway.account()
  const { id } = await gateway.key(account)
  const key = (await core.credentials.byAccount(account.id)).find((one) => one.id === id)
  const address = parseAddress('203.0.113.7')
  if (!PARSED.ok || !key || !address) throw new Error('the parts of the call')
  const hangUp = new AbortController()
  let closed = 0
  const backend: ModelBackend = {
    states: () => [],
    async open(_call, signal) {
      let next = 0
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => signal.addEventListener('abort', () => controller.error(new Error('aborted'))),
          pull(controller) {
            const part = parts[next++]
            if (part !== undefined) return controller.enqueue(new TextEncoder().encode(part))
            onSilent()
            return new Promise<void>(() => undefined)
          },
        },
        // Nothing is made before it is asked for: what was asked for after a part has read the part.
        { highWaterMark: 0 },
      )
      return ok({
        upstream: 'double',
        contentType: 'application/json',
        body,
        idleMs: 60_000,
        close: () => void closed++,
      })
    },
  }
  const counter: ModelCounter = {
    ...{
      backend,
      clock,
      ledger: core.ledger,
      limiter: core.limiter,
      journal: core.journal,
      streams: new OpenStreams(),
    },
    catalogue: new ModelCatalogue([PARSED.value], { all: () => [] }),
    funding: balanceFunding(core.ledger),
    repeats: {} as unknown as Repeats, // no call here names an Idempotency-Key
    creditBuysPaid: true,
    defaultCap: 100,
    longestStreamMs: 60_000,
    onTrouble: () => undefined,
    onOverrun: () => undefined,
  }
  const subject = windowOf(key.id, { name: 'test', rpm: 100 })
  const admitted: Admitted = {
    presented: {
      ...{ id: makeId('req', clock.now()), clientRequestId: null, at: clock.now(), address },
      credential: { kind: 'own_key', id: key.id },
      request: { method: 'POST', url: '/v1/chat/completions' },
      destination: { kind: 'priced', operation: 'chat-completions', scope: 'models:use' } as never, // only its kind is looked at
    },
    caller: { kind: 'key', key, account },
    subjects: [subject],
    readings: await core.limiter.read([subject]),
  }
  const place = await core.limiter.enter([subject])
  if (!place.ok) throw new Error('no place')
  const body = JSON.stringify({ model: 'plain', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] })
  const outcome = serveModel(counter, {
    ...{ admitted, operation: 'chat-completions', wire: CHAT_COMPLETIONS, hangUp: hangUp.signal, headers: {} },
    path: { model: null, stream: false, events: false },
    bytes: new TextEncoder().encode(body),
    ticket: place.value,
    wishes: { maxPrice: null, quote: false, idempotencyKey: null },
    fingerprint: () => '',
    onModel: () => undefined,
    onRemovedBetas: () => undefined,
    failureJson: () => '',
  })
  return { outcome, hangUp, bytes: body.length, account, id: admitted.presented.id, closed: () => closed }
}

test('a plain answer whose caller hangs up in its middle is charged for what came, the input included (spec-answers 4)', async () => {
  const silent = Promise.withResolvers<void>()
  const begun = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'x'.repeat(80)}`
  const { outcome, hangUp, bytes, account, id, closed } = await call([begun], silent.resolve)
  await silent.promise
  hangUp.abort()
  // A quarter of the bytes of the input at 1, and of the text that came at 10 micro-USD a token.
  const [input, output] = [Math.ceil(bytes / 4), 20]
  expect(await outcome).toMatchObject({ kind: 'served', cost: input + output * 10 })
  expect(closed()).toBe(1)
  expect((await gateway.core.ledger.balance(account.id))?.held).toBe(ZERO)
  const row = await gateway.core.reports.request(account.id, null, id)
  expect(row).toMatchObject({
    code: 'caller_hung_up',
    usageSource: 'estimated',
    tokens: { input, output, cacheRead: 0, cacheWrite: 0 },
  })
})

test('one whose caller hangs up before any of its body came costs nothing', async () => {
  const silent = Promise.withResolvers<void>()
  const { outcome, hangUp, account, closed } = await call([], silent.resolve)
  await silent.promise
  hangUp.abort()
  expect(await outcome).toMatchObject({ kind: 'refused', failure: { code: 'upstream_error' } })
  expect(closed()).toBe(1)
  expect(await gateway.core.ledger.balance(account.id)).toMatchObject({ held: ZERO, posted: 2_000_000 })
})
