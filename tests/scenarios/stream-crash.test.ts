import { afterAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, signUp, startServer } from '../support/servers/server-process'
import { readUntil } from '../support/until'
import { eventStream, openAi, openVendor } from '../support/vendor-double'

const words = 'x'.repeat(10_000)
let folder = ''
const vendor = openVendor(() =>
  eventStream([openAi.chunk({ content: words }), openAi.chunk({ content: 'and more' })], () => undefined),
)
afterAll(async () => {
  vendor.close()
  await removeFolder(folder)
})

/** A server whose one model is at the double and may be paid for with signup credit. */
async function started(env: Record<string, string> = {}) {
  if (folder === '') {
    folder = await dataFolder()
    const entry = {
      id: 'paid',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: { input: 2.5, output: 10 },
      recharge_required: false,
    }
    await writeFile(join(folder, 'models.json'), JSON.stringify({ models: [entry] }))
  }
  return startServer(folder, { MODELS_FILE: join(folder, 'models.json'), ...env })
}

/** Opens a stream, and reads until the text has come. */
async function opened(url: string, secret: string) {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'paid',
      max_tokens: 8000,
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  })
  const reader = answer.body?.getReader()
  if (!reader) throw new Error('no body')
  await readUntil(reader, (text) => text.includes('and more'))
  return { id: answer.headers.get('x-gateway-request-id') ?? '', reader }
}

describe('a process that ends in the middle of a stream (spec D4)', () => {
  /** The one that started after the kill. */
  let server: ServerProcess
  let charged: { readonly owner: Awaited<ReturnType<typeof signUp>>; readonly balance: number }

  test('kill -9: the start charges the last recorded usage, once, and releases the hold', async () => {
    const first = await started()
    const owner = await signUp(first.url, 'ada@example.com')
    const { secret } = await owner.api('/api/keys', { name: 'streams' })
    const { id } = await opened(first.url, secret)
    expect((await owner.api('/api/account')).held_micros_usd).toBeGreaterThan(80_000)
    // The text was written down when more than 8 KiB of it had come; a concurrent charge is durable after it in the log.
    const after = await fetch(`${first.url}/apis/v1/websearch/images/search?q=card`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(after.status).toBe(200)
    await first.kill('SIGKILL')

    const second = await started({ DRAIN_SECONDS: '0' })
    const account = await owner.api('/api/account', undefined, second.url)
    const explained = (await (
      await fetch(`${second.url}/v1/usage/${id}`, { headers: { authorization: `Bearer ${secret}` } })
    ).json()) as Record<string, number | string>
    expect(explained).toMatchObject({ code: 'gateway_restarted', usage_source: 'estimated' })
    expect(Number(explained['output_tokens'])).toBeWithin(2500, 2503) // the last words may have come in the same read
    expect(account.held_micros_usd).toBe(0)
    expect(account.balance_micros_usd).toBe(2_000_000 - 5000 - Number(explained['cost_micros_usd']))
    server = second
    charged = { owner, balance: account.balance_micros_usd }
  })

  test('SIGTERM: a stream that outlasts the grace period ends with an error event, uncharged, and blames no caller', async () => {
    const owner = await signUp(server.url, 'grace@example.com')
    const { secret } = await owner.api('/api/keys', { name: 'stops' })
    const { id, reader } = await opened(server.url, secret)
    const exited = server.kill('SIGTERM')
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read())
      rest += new TextDecoder().decode(part.value)
    expect(rest).toContain('"code":"service_unavailable"')
    expect(rest).not.toContain('[DONE]')
    expect(await exited).toBe(0)

    const last = await started()
    const headers = { authorization: `Bearer ${secret}` }
    const explained: unknown = await (await fetch(`${last.url}/v1/usage/${id}`, { headers })).json()
    expect(explained).toMatchObject({ code: 'gateway_shutdown', charge: null })
    const { balance_micros_usd: left, held_micros_usd: held } = await owner.api('/api/account', undefined, last.url)
    expect([left, held]).toEqual([2_000_000, 0])
    // The call that the first kill left is charged once, though the process started twice.
    const { owner: first, balance } = charged
    expect((await first.api('/api/account', undefined, last.url)).balance_micros_usd).toBe(balance)
    await last.kill('SIGTERM')
    expect(await reconcile(join(folder, 'gateway.db'))).toMatchObject({ charges: 2, problems: [] })
  })
})
