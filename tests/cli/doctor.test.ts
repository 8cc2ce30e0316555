import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { doctorCommand } from '../../server/cli/local/doctor-command'
import { listenControl } from '../../server/listen'
import { executeOn } from '../support/databases/database-file'
import { type Harness, openHarness } from '../support/harness'
import { freePort } from '../support/servers/free-port'

const SECRET_KEY = 'a secret that only tests know, 32 bytes and more'
let h: Harness
let free: string
beforeAll(async () => {
  h = await openHarness()
  await h.account(1)
  await h.core.stores.applied()
  free = String(await freePort())
})
afterAll(() => h.close())

interface Diagnosis {
  readonly code: number
  readonly status: string
  readonly findings: readonly {
    readonly check: string
    readonly status: string
    readonly message: string
    readonly advice: string | null
  }[]
}

/** Runs `gateway doctor --json` on a folder. */
async function doctor(env: Record<string, string>, now = h.clock.now()): Promise<Diagnosis> {
  let text = ''
  const out = (piece: string) => {
    text += piece
  }
  const given = { DATA_DIR: h.folder, SECRET_KEY, PORT: free, ...env }
  const code = await doctorCommand(['--json'], { env: given, out, now: () => now }).then(
    () => 0,
    () => 1,
  )
  expect(text).not.toContain(SECRET_KEY)
  return { code, ...JSON.parse(text) }
}

const of = ({ findings }: Diagnosis, check: string) => findings.filter((one) => one.check === check)

test('a sound gateway that does not run passes, with the hint that no backups are scheduled', async () => {
  const diagnosis = await doctor({})
  expect(diagnosis.findings.filter(({ status }) => status === 'fail')).toEqual([])
  expect(diagnosis).toMatchObject({ code: 0, status: 'ok' })
  expect(of(diagnosis, 'books')[0]?.message).toContain('the books agree')
  expect(of(diagnosis, 'backups')[0]).toMatchObject({ status: 'warn', advice: expect.stringContaining('BACKUP_TO') })
  expect(of(diagnosis, 'ports')[0]?.message).toContain('is free')
})

test('a gateway that runs is asked whether it can charge, and its port is its own', async () => {
  const control = listenControl(join(h.folder, 'control.sock'), h.gateway.control)
  const web = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  try {
    const diagnosis = await doctor({ PORT: String(web.port) })
    expect(of(diagnosis, 'gateway')[0]?.message).toBe('it runs, and can serve and charge')
    expect(of(diagnosis, 'ports')[0]?.message).toContain('is in use by the gateway')
  } finally {
    await control.stop()
    await web.stop(true)
  }
})

test.each([
  ['configuration', { PORT: 'abc' }, 'PORT must be'],
  ['configuration', { CONFIG_FILE: '/nowhere.yaml' }, '/nowhere.yaml cannot be read'],
  ['configuration', { MODELS_FILE: '/nowhere.json' }, 'MODELS_FILE: /nowhere.json could not be read'],
  ['data', { DATA_DIR: '/nowhere/at/all' }, 'there is no folder /nowhere/at/all'],
] as const)('%s that is wrong fails', async (check, env, message) => {
  const diagnosis = await doctor(env)
  expect(diagnosis.code).toBe(1)
  expect(of(diagnosis, check)[0]).toMatchObject({ status: 'fail', message: expect.stringContaining(message) })
})

test('a port that another program has, a clock that is wrong, and files that others can read are found', async () => {
  const web = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const secret = join(h.folder, 'secret_key')
  await writeFile(secret, SECRET_KEY)
  await chmod(secret, 0o644)
  const diagnosis = await doctor({ PORT: String(web.port) }, h.clock.now() - 3_600_000)
  await web.stop(true)
  await rm(secret)
  expect(of(diagnosis, 'ports')[0]).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('another program'),
  })
  expect(of(diagnosis, 'clock')[0]).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('before the last entry'),
  })
  // The umask of the process that runs the tests decides what else others can read.
  expect(of(diagnosis, 'permissions')).toContainEqual(
    expect.objectContaining({ status: 'warn', advice: `chmod go= ${secret}` }),
  )
})

test('a place for backups that cannot be written, and a secret that is not there yet, are found', async () => {
  const diagnosis = await doctor({ BACKUP_TO: '/proc/copies', SECRET_KEY: '' })
  expect(diagnosis.code).toBe(0)
  expect(of(diagnosis, 'configuration')[0]).toMatchObject({ status: 'ok' })
  expect(of(diagnosis, 'backups')[0]).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('no copy can be written: /proc/copies'),
  })
})

test('books that do not agree, and an old copy, are found', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'doctor-'))
  const file = join(folder, 'gateway.db')
  await executeOn(h.databaseFile, 'VACUUM INTO ?', [file])
  await executeOn(file, 'UPDATE accounts SET credit = credit + 1')
  await chmod(folder, 0o700)
  await chmod(file, 0o600)
  const target = join(folder, 'copies')
  const { backups, backupTarget } = h.gateway.backups.commands
  await backups.start({ target: backupTarget(target), verify: false, keep: null }).result
  const diagnosis = await doctor({ DATA_DIR: folder, BACKUP_TO: target }, h.clock.now() + 3 * 86_400_000)
  expect(of(diagnosis, 'books')[0]).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('is not the sum of its entries'),
    advice: expect.stringContaining('reconcile'),
  })
  expect(of(diagnosis, 'backups')[0]).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('3.0 days old'),
  })
  await rm(folder, { recursive: true })
})

test('without a database it says where it looked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'doctor-'))
  await chmod(folder, 0o700)
  const [books] = of(await doctor({ DATA_DIR: folder }), 'books')
  expect(books?.message).toStartWith(`there is no database yet: ${join(folder, 'gateway.db')} is not there`)
  expect(books?.message).toContain('DATABASE_URL')
  await rm(folder, { recursive: true })
})
