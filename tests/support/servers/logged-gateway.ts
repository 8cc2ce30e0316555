import { expect } from 'bun:test'
import { join } from 'node:path'
import { chargedIds, executeOn } from '../databases/database-file'
import { reconcile } from '../reconcile'
import { freePort } from './free-port'
import type { Postgres } from './postgres'
import { addSmallIndex, control, dataFolder, type ServerProcess, signUp, startServer } from './server-process'

export const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

/** A gateway whose log is in PostgreSQL too, and a customer who can pay. `own`: settings that no other machine has. */
export async function openGateway(postgres: Postgres, own: Readonly<Record<string, string>> = {}) {
  const [dataDir, { url: LOG_URL, name }] = await Promise.all([dataFolder(), postgres.database()])
  const env = { LOG_URL }
  const server = await startServer(dataDir, { ...env, ...own })
  const owner = await signUp(server.url, `${crypto.randomUUID()}@example.com`)
  await control(dataDir, `/accounts/${owner.id}/grants`, { usd: '100', note: 'test' })
  await control(dataDir, `/accounts/${owner.id}/limits`, {
    limits: { rpm: 1_000_000, tpm: 1_000_000, concurrency: 1_000 },
  })
  const key = await owner.api('/api/keys', { name: 'first', spending_limit: 100 })
  return { dataDir, env, name, server, owner, secret: String(key.secret) }
}

/** Callers side by side, until they are stopped. A call that nobody answers is not counted. */
export function callers(url: () => string, secret: string, count = 16) {
  const answered = new Map<string, number>()
  const statuses = new Map<number, number>()
  let isOver = false
  const all = Array.from({ length: count }, async () => {
    while (!isOver) {
      const answer = await fetch(url() + SEARCH, { headers: { authorization: `Bearer ${secret}` } }).catch(() => null)
      await answer?.arrayBuffer().catch(() => null)
      if (!answer) await Bun.sleep(10)
      else statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer?.status === 200) answered.set(answer.headers.get('x-request-id') ?? '', Date.now())
      else if (answer?.status === 503) await Bun.sleep(10)
    }
  })
  return {
    answered,
    statuses,
    async stop() {
      isOver = true
      await Promise.all(all)
    },
  }
}

/** Every acknowledged call is charged once, and the sums agree. */
export async function recount(dataDir: string, answered: ReadonlyMap<string, number>) {
  const file = join(dataDir, 'gateway.db')
  const charged = await chargedIds(file)
  expect([...answered.keys()].filter((id) => !charged.has(id))).toEqual([])
  const [twice] = await executeOn(
    file,
    `SELECT count(*) AS n FROM (SELECT request_id FROM entries WHERE kind = 'charge' GROUP BY request_id HAVING count(*) > 1)`,
  )
  expect(Number(twice?.['n'])).toBe(0)
  expect((await reconcile(file)).problems).toEqual([])
}

export async function call(url: string, secret: string): Promise<number> {
  return (await fetch(url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })).status
}

export interface Standby {
  readonly dataDir: string
  readonly url: string
  /** Once it serves. */
  readonly server: Promise<ServerProcess>
  readonly ready: () => Promise<{ readonly status: number; readonly code?: string; readonly lag_seconds?: number }>
}

/** Starts a standby of the gateway that copies to `replica`. */
export async function startStandby(dataDir: string, env: Record<string, string>, replica: string): Promise<Standby> {
  const port = env['PORT'] ?? (await freePort())
  await addSmallIndex(dataDir)
  const server = startServer(dataDir, { ...env, PORT: `${port}` }, undefined, [`--standby=${replica}`])
  server.catch(() => undefined)
  const url = `http://127.0.0.1:${port}`
  const ready = async () => {
    const answer = await fetch(`${url}/ready`).catch(() => null)
    return { ...(await answer?.json()), status: answer?.status ?? 0 }
  }
  return { dataDir, url, server, ready }
}

export const isFollowing = async ({ ready }: Standby) => (await ready()).code === 'standby'
