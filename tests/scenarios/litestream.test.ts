import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chargedIds } from '../support/databases/database-file'
import { IS_SERVER } from '../support/databases/test-database'
import { openS3Server } from '../support/doubles/s3-server'
import { reconcile } from '../support/reconcile'
import { LITESTREAM_IS_MISSING, signalLitestream } from '../support/servers/litestream'
import {
  addSmallIndex,
  control,
  dataFolder,
  readiness,
  restore,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { until } from '../support/until'

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
const CALLERS = 16
const TOKEN = 'a token of 32 characters: x'.padEnd(32, 'x').replaceAll(' ', '-')
const isMissing = IS_SERVER || LITESTREAM_IS_MISSING

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'litestream-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** So many calls of callers side by side. Resolves to the ids of those that were answered 200. */
async function acknowledged(url: string, secret: string, calls: number): Promise<readonly string[]> {
  const ids: string[] = []
  let left = calls
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (left-- > 0) {
        const answer = await fetch(url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
        await answer.arrayBuffer()
        if (answer.status === 200) ids.push(answer.headers.get('x-request-id') ?? '')
      }
    }),
  )
  return ids
}

test.skipIf(isMissing)(
  'a gateway and Litestream that are killed lose no acknowledged call of 2,000: the log of charges has those that the replica lacks',
  async () => {
    const lost = await dataFolder()
    const replica = join(folder, 'replica')
    const server = await startServer(lost, { LITESTREAM_REPLICA: `file://${replica}` })
    const owner = await signUp(server.url, 'ada@example.com')
    await control(lost, `/accounts/${owner.id}/grants`, { usd: '100', note: 'test' })
    await control(lost, `/accounts/${owner.id}/limits`, {
      limits: { rpm: 1_000_000, tpm: 1_000_000, concurrency: 1_000 },
    })
    const { secret } = await owner.api('/api/keys', { name: 'first', spending_limit: 100 })
    const ids = [...(await acknowledged(server.url, secret, 1_700))]
    await until(() => existsSync(replica))
    // It copies once a second: the key must be in the replica, and calls must be that are not.
    await until(
      async () =>
        (await restore(join(folder, crypto.randomUUID()), ['--litestream', replica, '--log', 'none'])).code === 0,
    )
    signalLitestream(lost, 'SIGSTOP')
    ids.push(...(await acknowledged(server.url, secret, 300)))
    await server.kill('SIGKILL')
    signalLitestream(lost, 'SIGKILL')
    expect(ids).toHaveLength(2_000)
    const log = join(lost, 'gateway.db.log')

    const found = join(folder, 'found')
    await mkdir(found)
    await writeFile(join(folder, 'bad.log'), 'no log\nof charges\n')
    const refused = await restore(found, ['--litestream', replica])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--log FILE')])
    const nowhere = await restore(found, ['--litestream', join(folder, 'nowhere'), '--log', log])
    expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('litestream restore failed')])
    expect(existsSync(join(found, 'gateway.db'))).toBe(false)

    const restored = await restore(found, ['--litestream', replica, '--log', log, '--json'])
    expect({ code: restored.code, err: restored.err }).toMatchObject({ code: 0 })
    expect(JSON.parse(restored.out).groups).toBeGreaterThan(0)
    const file = join(found, 'gateway.db')
    const before = await chargedIds(file)
    expect(ids.filter((id) => !before.has(id)).length).toBeGreaterThanOrEqual(300)
    const again = await restore(found, ['--litestream', replica, '--log', log])
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('is not empty')])

    await addSmallIndex(found)
    const next = await startServer(found)
    expect(next.output()).toContain('run "gateway operator after-restore"')
    expect((await acknowledged(next.url, secret, 5)).length).toBe(5)
    expect(await next.kill('SIGTERM')).toBe(0)
    const after = await chargedIds(file)
    expect(ids.filter((id) => !after.has(id))).toEqual([])
    expect((await reconcile(file)).problems).toEqual([])
    await rm(lost, { recursive: true, force: true })
  },
)

test.skipIf(isMissing)(
  'a gateway keeps Litestream running, and at a clean stop the bucket has its last write; without the program, or at the place of another gateway, it does not start',
  async () => {
    const store = openS3Server('copies')
    const dataDir = await dataFolder()
    const env = { ...store.env, LITESTREAM_REPLICA: 's3://copies/a/', METRICS_TOKEN: TOKEN }
    try {
      const server = await startServer(dataDir, env)
      const owner = await signUp(server.url, 'ada@example.com')
      await control(dataDir, `/accounts/${owner.id}/grants`, { usd: '100', note: 'test' })
      const { secret } = await owner.api('/api/keys', { name: 'first', spending_limit: 100 })
      await until(() => signalLitestream(dataDir, 'SIGKILL') > 0)
      await until(() => server.output().includes('Litestream ended, and begins anew'))
      await until(() => store.objects.size > 1)
      expect(await lagOf(server.url)).toBeLessThan(30)
      expect((await readiness(dataDir)).warnings).toEqual({})
      const ids = await acknowledged(server.url, secret, 20)
      expect(ids).toHaveLength(20)
      const other = await dataFolder()
      await expect(startServer(other, env)).rejects.toThrow('has the copy of another data folder')
      await expect(startServer(other, { ...env, LITESTREAM: '/nowhere/litestream' })).rejects.toThrow(
        'there is no program /nowhere/litestream: install Litestream from https://litestream.io',
      )
      // The stop itself must copy them.
      signalLitestream(dataDir, 'SIGKILL')
      expect(await server.kill('SIGTERM')).toBe(0)
      expect(signalLitestream(dataDir, 'SIGCONT')).toBe(0)

      const found = join(folder, 'found-in-the-bucket')
      const restored = await restore(found, ['--litestream', 's3://copies/a', '--log', 'none'], store.env)
      expect({ code: restored.code, err: restored.err }).toMatchObject({ code: 0 })
      const charged = await chargedIds(join(found, 'gateway.db'))
      expect(ids.filter((id) => !charged.has(id))).toEqual([])
      expect((await reconcile(join(found, 'gateway.db'))).problems).toEqual([])
    } finally {
      store.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  },
)

async function lagOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text()
  return Number(/^gateway_replica_lag_seconds (\S+)$/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
}
