import { expect, test } from 'bun:test'
import { UpstreamRouter } from '../../../server/adapters/models/upstream-router'
import { parseModelEntry } from '../../../server/core/models/model-entry'
import { NO_TELEMETRY } from '../../../server/core/telemetry/telemetry'
import type { BackendCall } from '../../../server/pipeline/models/model-backend'
import { CHAT_COMPLETIONS } from '../../../server/pipeline/models/wires/openai/chat-completions-wire'
import { accountId } from '../../support/ledger-parts'
import { openAi, openVendor } from '../../support/vendor-double'

const SOURCE = { created: 1, priceVersion: () => 'v' }

/** A plain call of a model with one place at its upstream. */
function callTo(origin: string): BackendCall {
  const upstream = { kind: 'openai', base_url: `${origin}/v1`, key_env: 'KEY', concurrency: 1 } as const
  const parsed = parseModelEntry({ id: 'm', upstream, price: { input: 1, output: 1 } }, SOURCE)
  if (!parsed.ok) throw new Error(parsed.error)
  const path = { model: null, stream: false, events: false }
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
  const request = CHAT_COMPLETIONS.read(new TextEncoder().encode(body), path)
  if (!request.ok) throw new Error(request.error.message)
  return {
    account: accountId(),
    concurrency: 5,
    model: parsed.value,
    wire: CHAT_COMPLETIONS,
    request: request.value,
    path,
    cap: 10,
    headers: {},
    traceparent: null,
    order: null,
    tries: Number.POSITIVE_INFINITY,
  }
}

const options = {
  keyOf: () => 'secret',
  vendorKeyOf: () => undefined,
  now: () => 0,
  onTrouble: () => undefined,
  telemetry: NO_TELEMETRY,
}

test('a fault of ours before an answer gives the place at the upstream back', async () => {
  const vendor = openVendor(() => openAi.plain('Hi', { input: 1, output: 1 }))
  const call = callTo(vendor.origin)
  let asked = 0
  const keyOf = () => {
    if (++asked === 2) throw new Error('a fault')
    return 'secret'
  }
  const router = new UpstreamRouter({ ...options, keyOf })
  const never = new AbortController().signal
  await expect(router.open(call, never)).rejects.toThrow('a fault')
  expect(router.states([call.model]).map(({ underWay }) => underWay)).toEqual([0])
  const opened = await router.open(call, never)
  expect(opened.ok).toBe(true)
  if (opened.ok) opened.value.close()
  await vendor.close()
})

test('a call that is stopped before it begins asks nobody', async () => {
  const vendor = openVendor(() => new Promise(() => undefined))
  const call = callTo(vendor.origin)
  const router = new UpstreamRouter(options)
  expect(await router.open(call, AbortSignal.abort())).toMatchObject({ ok: false, error: { kind: 'timeout' } })
  expect([vendor.received.length, router.states([call.model])[0]?.underWay]).toEqual([0, 0])
  await vendor.close()
})
