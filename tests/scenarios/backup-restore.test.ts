import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openS3Server } from '../support/doubles/s3-server'
import { reconcile } from '../support/reconcile'
import {
  addSmallIndex,
  COMPILED,
  dataFolder,
  removeFolder,
  SECRET_KEY,
  signUp,
  startServer,
} from '../support/servers/server-process'

/** By the command line, with real processes. */
const ROOT = resolve(import.meta.dir, '../..')
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

/** Each start would compile everything again. */
const CACHED = { BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED }

let folder: string
let s3: ReturnType<typeof openS3Server>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backup-restore-'))
  s3 = openS3Server()
})
afterAll(async () => {
  s3.close()
  await rm(folder, { recursive: true, force: true })
})

/** Runs `gateway operator ...`. */
async function operator(settings: { DATA_DIR: string; DATABASE_URL?: string; SECRET_KEY?: string }, ...args: string[]) {
  const child = Bun.spawn([process.execPath, 'server/cli/main.ts', 'operator', ...args], {
    cwd: ROOT,
    env: { ...CACHED, PATH: process.env['PATH'] ?? '', ...s3.env, ...settings },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, err }
}

test('a running gateway is copied to a bucket, its loss restored on another machine, and the same key and password go on', async () => {
  const lost = await dataFolder()
  const server = await startServer(lost, s3.env)
  const owner = await signUp(server.url, 'ada@example.com')
  const { secret } = await owner.api('/api/keys', { name: 'first', spending_limit: 1 })
  const search = (url: string) => fetch(url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
  expect((await search(server.url)).status).toBe(200)

  const made = await operator({ DATA_DIR: lost }, 'backup', 's3://backups/prod', '--verify')
  expect({ code: made.code, err: made.err }).toMatchObject({ code: 0, err: expect.stringContaining('copying') })
  expect(made.out).toContain(
    'bring these settings, with the same values:\n  SECRET_KEY, or the file secret_key in DATA_DIR',
  )
  await server.kill('SIGKILL')
  await removeFolder(lost)

  const DATA_DIR = join(folder, 'another')
  const restored = await operator({ DATA_DIR }, 'restore', 's3://backups/prod')
  expect({ code: restored.code, err: restored.err, out: restored.out }).toMatchObject({ code: 0 })
  expect(restored.out).toContain('its books agree')
  expect(restored.out).toContain("Not set, but needed with the original's values: SECRET_KEY")
  await addSmallIndex(DATA_DIR)
  const again = await startServer(DATA_DIR, { SECRET_KEY, ...s3.env })
  expect((await search(again.url)).status).toBe(200)
  const signedIn = await fetch(`${again.url}/api/account`, { headers: { cookie: owner.cookie } })
  expect(signedIn.status).toBe(200)
  await again.kill('SIGTERM')

  // The same commands while no gateway runs.
  await Bun.write(join(DATA_DIR, 'secret_key'), SECRET_KEY)
  expect((await operator({ DATA_DIR }, 'backup', join(folder, 'copies'))).code).toBe(0)
  const [copy = ''] = await readdir(join(folder, 'copies'))
  const verified = await operator({ DATA_DIR }, 'backup', 'verify', join(folder, 'copies', copy))
  expect(verified.out).toContain('is complete, it opens, and its books agree')
  expect((await reconcile(join(folder, 'copies', copy, 'gateway.db'))).problems).toEqual([])
}, 60_000)

test('a database server is refused with what to do instead', async () => {
  const settings = { DATA_DIR: join(folder, 'remote'), DATABASE_URL: 'http://127.0.0.1:1', SECRET_KEY }
  const { code, err } = await operator(settings, 'backup', join(folder, 'never'))
  expect(err).toContain('back it up and restore it with its own tools')
  expect(code).toBe(1)
})
