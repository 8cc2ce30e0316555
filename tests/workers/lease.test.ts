import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { composeWorker, workerState } from '../../server/compose/worker'
import { workerConfig } from '../../server/config'
import { openLog } from '../../server/log'
import { newFolder, openHarness } from '../support/harness'
import { eventStream, openAi, openVendor } from '../support/vendor-double'

test('a stream gives not one byte more once its worker has no lease, and its caller sees that it broke', async () => {
  const folder = await newFolder()
  const events = openAi.words(['first ', 'second '], { input: 3, output: 2 })
  const lost = Promise.withResolvers<void>()
  const vendor = openVendor(() => {
    const [before = '', ...after] = events
    return eventStream([before, events[1] ?? ''], async (controller) => {
      await lost.promise
      for (const event of [before, ...after]) controller.enqueue(new TextEncoder().encode(event))
      controller.close()
    })
  })
  const MODELS_FILE = join(folder, 'models.json')
  const model = {
    id: 'paid',
    upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
    price: { input: 0, output: 1000 },
    recharge_required: false,
  }
  await writeFile(MODELS_FILE, JSON.stringify({ models: [model] }))
  const lease = { hasLease: true }
  const gateway = await openHarness({
    folder,
    env: { MODELS_FILE, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' },
    byWorker: lease,
  })
  try {
    const key = await gateway.key(await gateway.account(0))
    const body = { model: 'paid', stream: true, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }
    const answer = await gateway.as(key, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(200)
    const reader = answer.body?.getReader()
    let text = ''
    while (!text.includes('first ')) text += new TextDecoder().decode((await reader?.read())?.value)
    lease.hasLease = false
    lost.resolve()
    const rest: string[] = []
    const end = await (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        if (done) return 'whole'
        rest.push(new TextDecoder().decode(value))
      }
    })().catch(() => 'broken')
    expect([end, rest.join('')]).toEqual(['broken', ''])
  } finally {
    vendor.close()
    await gateway.close()
  }
})

test('/health is of the worker itself; /ready fails once it has no lease, and as soon as it is to stop', async () => {
  const primary = { hasLease: true, isReady: false, sessionNumber: 1, back: async () => false, ask: async () => null }
  const parts = { ...primary, tell: () => undefined }
  const clock = { now: () => 1 }
  const log = openLog('error', () => undefined)
  const state = workerState(parts, clock)
  const settings = { BASE_URL: 'http://localhost:3000', WEBSEARCH_PROVIDER: 'brave', BRAVE_API_KEY: 'none' }
  const worker = composeWorker(
    workerConfig(settings, false, {}),
    { clock, acceptsClock: true, log, onFatal: fail },
    {
      state,
      primary: parts,
      passOn: async () => new Response('no primary', { status: 503 }),
      hasIndex: false,
    },
  )
  const statuses = async () =>
    Promise.all(
      ['/health', '/ready'].map(async (path) => (await worker.fetch(new Request(`http://localhost${path}`))).status),
    )
  try {
    expect(await statuses()).toEqual([200, 200])
    parts.hasLease = false
    expect(await statuses()).toEqual([200, 503])
    parts.hasLease = true
    state.isLeaving = true
    expect(await statuses()).toEqual([200, 503])
  } finally {
    await worker.close()
  }
})

function fail(reason: string): never {
  throw new Error(reason)
}
