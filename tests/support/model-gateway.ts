import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelEntry } from '../../server/core/models/model-entry'
import { micros } from '../../server/core/money'
import { type MadeKey, newFolder, openHarness } from './harness'
import { listenTo } from './servers/listen-to'

/** Our keys at the doubles; no test may find them in an answer or a log. */
export const VENDOR_KEYS = { OPENAI_DOUBLE_KEY: 'sk-vendor-secret-1', ANTHROPIC_DOUBLE_KEY: 'sk-vendor-secret-2' }

/** USD per million: 2.5 in, 10 out, 1.25 read from a cache. */
export const PRICE = { input: 2.5, output: 10, cache_read: 1.25, cache_write: 3.125 }

/** The gateway with these models in its file. */
export async function openModelGateway(models: readonly ModelEntry[], env: Record<string, string> = {}) {
  const folder = await newFolder()
  const file = join(folder, 'models.json')
  await writeFile(file, JSON.stringify({ models }))
  const harness = await openHarness({ folder, env: { MODELS_FILE: file, ...VENDOR_KEYS, ...env } })
  const post = (key: MadeKey | string, path: string, body: unknown, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('content-type', 'application/json')
    return harness.as(key, path, {
      ...init,
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }
  const stops: (() => Promise<void>)[] = []
  return {
    ...harness,
    post,
    chat: (key: MadeKey | string, body: object, init: RequestInit = {}) =>
      post(key, '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }], ...body }, init),
    /** An account that topped up, and a key of it. */
    async funded(usd = 10, body: Record<string, unknown> = {}, limits?: Parameters<typeof harness.account>[1]) {
      const account = await (limits === undefined ? harness.account() : harness.account(0, limits))
      const topped = await harness.core.ledger.credit({
        account: account.id,
        part: 'paid',
        kind: 'top_up',
        amount: micros(usd * 1_000_000),
        description: 'test',
        reference: `top-up:${account.id}`,
      })
      if (!topped.ok) throw new Error(topped.error)
      const key = await harness.key(account, body)
      const balance = async () => {
        const now = await harness.core.ledger.balance(account.id)
        return { paid: Number(now?.paid), held: Number(now?.held) }
      }
      return { account, key, balance }
    },
    /** The same gateway on a socket, for clients that are not ours. */
    serve(): string {
      const web = listenTo(harness.gateway)
      stops.push(() => web.stop(2000))
      return `http://127.0.0.1:${web.port}`
    },
    /** One request explained, as the key sees it. */
    async explained(key: MadeKey, id: string): Promise<Record<string, unknown>> {
      return (await (await harness.as(key, `/v1/usage/${id}`)).json()) as Record<string, unknown>
    },
    async close(keepFolder = false) {
      for (const stop of stops) await stop()
      await harness.close(true)
      if (!keepFolder) await rm(folder, { recursive: true, force: true })
    },
  }
}

export type ModelGateway = Awaited<ReturnType<typeof openModelGateway>>
