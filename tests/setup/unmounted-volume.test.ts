import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backupTarget } from '../../server/compose/backup/backups'
import { refuseLostData } from '../../server/compose/data'
import { readConfig } from '../../server/config'
import { openLog } from '../../server/log'
import { unmountedVolume } from '../../server/setup/unmounted-volume'
import { newFolder, openHarness } from '../support/harness'
import { dataFolder, removeFolder, startServer } from '../support/servers/server-process'

const SEALING_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`
let root = ''
let folder = ''
const at = (...names: string[]) => join(root, ...names)
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gw-volume-'))
})
beforeEach(async () => {
  await rm(root, { recursive: true })
  folder = at('volume', 'gateway')
  await mkdir(folder, { recursive: true })
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** The message of a start where the system has these volumes and has mounted those. */
async function said(
  environment: Record<string, string>,
  { fstab = '', mounted = [] as readonly string[], flags = [] as readonly string[] } = {},
): Promise<string | null> {
  await writeFile(
    at('fstab'),
    `# <file system> <mount point>\nUUID=1 / ext4 defaults 0 1\nUUID=2 none swap sw 0 0\n${fstab}\n`,
  )
  const lines = mounted.map((point) => `41 23 8:2 / ${point} rw,relatime shared:1 - ext4 /dev/sdb rw`)
  await writeFile(at('mountinfo'), `23 1 8:1 / / rw - ext4 /dev/sda rw\n${lines.join('\n')}\n`)
  return unmountedVolume(flags, environment, { fstab: at('fstab'), mounts: at('mountinfo') })
}

describe('an empty data folder', () => {
  const volume = () => ({ fstab: `/dev/sdb\t${at('volume')}/ ext4 defaults 0 2` })

  test('below a volume that is not mounted is refused by the name of both, in every mode', async () => {
    for (const name of ['secret_key', 'gateway.yaml']) await writeFile(join(folder, name), 'x')
    const problem = await said({ DATA_DIR: folder }, volume())
    expect(problem).toContain(`The data folder ${folder} is empty`)
    expect(problem).toContain(`names for ${at('volume')} is not mounted. Mount it`)
    expect(problem).toContain('--new')
    await rm(folder, { recursive: true })
    expect(await said({ DATA_DIR: folder }, volume())).toContain('is not mounted')
    await symlink(at('volume'), at('link'))
    expect(await said({ DATA_DIR: at('link', 'gateway') }, volume())).toContain('is not mounted')
    const DATABASE_URL = `file:${at('volume')}/gateway.db?x=1`
    expect(await said({ DATA_DIR: at('elsewhere'), DATABASE_URL }, volume())).toContain('is not mounted')
  })

  test('is a new gateway once the volume is mounted, by --new, and where no volume is named', async () => {
    expect(await said({ DATA_DIR: folder }, { ...volume(), mounted: [at('volume')] })).toBeNull()
    expect(await said({ DATA_DIR: folder }, { ...volume(), flags: ['up', '--new'] })).toBeNull()
    expect(await said({ DATA_DIR: folder, NEW_DATA_DIR: 'true' }, volume())).toBeNull()
    expect(await said({ DATA_DIR: folder, DATABASE_URL: 'libsql://db.example.com' }, volume())).toBeNull()
    expect(await said({ DATA_DIR: folder, NODE_ENV: 'production' })).toBeNull()
    const byHand = {
      fstab: `/dev/sdb ${at('volume')} ext4 defaults,noauto 0 2\n/dev/sdc ${at('vol')} ext4 defaults 0 2`,
    }
    expect(await said({ DATA_DIR: folder }, byHand)).toBeNull()
  })

  test('with data in it is started whatever is mounted', async () => {
    await writeFile(join(folder, 'gateway.db'), '')
    expect(await said({ DATA_DIR: folder }, volume())).toBeNull()
  })
})

describe('a data folder that does not exist', () => {
  test('is refused in production, but directly below a mounted volume and for the default', async () => {
    const missing = at('volume', 'gatewya')
    expect(await said({ DATA_DIR: missing, NODE_ENV: 'production' })).toContain(`${missing} does not exist`)
    expect(await said({ DATA_DIR: missing })).toBeNull()
    expect(await said({ DATA_DIR: missing, NODE_ENV: 'production' }, { mounted: [at('volume')] })).toBeNull()
    expect(await said({ DATA_DIR: missing, NODE_ENV: 'production' }, { flags: ['--new'] })).toBeNull()
    expect(await said({ NODE_ENV: 'production' })).toBeNull()
  })

  test('ends the start of a process in one line, and is not made', async () => {
    const missing = at('volume', 'gatewya')
    const start = startServer(folder, { DATA_DIR: missing, NODE_ENV: 'production', SEALING_KEYS })
    await expect(start).rejects.toThrow(
      /^the server ended: gateway: The data folder [^\n]*gatewya does not exist[^\n]*\n$/,
    )
    expect(await Bun.file(missing).exists()).toBe(false)
  })
})

describe('a missing database', () => {
  test('is refused while BACKUP_TO has copies of this gateway, and of no other one', async () => {
    const gateway = await openHarness({ folder: await newFolder() })
    const copies = at('copies')
    const env = { DATA_DIR: folder, BACKUP_TO: copies, SECRET_KEY: 'a secret that only tests know, 32 bytes and more' }
    const config = readConfig(env, {})
    const target = backupTarget(copies, { ...config, dataDir: gateway.folder })
    await gateway.gateway.backups.commands.backups.start({ target, verify: false, keep: null }).result
    await gateway.close()
    const lines: string[] = []
    const log = openLog('debug', (line) => lines.push(line))
    await expect(refuseLostData(config, false, log)).rejects.toThrow(
      `has no database, but ${copies} has copies of this gateway, the newest gateway-`,
    )
    await refuseLostData(config, true, log)
    await refuseLostData({ ...config, newDataDir: true }, false, log)
    await refuseLostData(readConfig({ ...env, SECRET_KEY: 'the secret of another gateway, 32 bytes' }, {}), false, log)
    await refuseLostData(readConfig({ ...env, BACKUP_TO: at('gone') }, {}), false, log)
    expect(lines).toEqual([])
    await writeFile(join(folder, 'gateway.db'), '')
    await refuseLostData(config, false, log)
    expect(lines).toEqual([])
    await refuseLostData({ ...config, newDataDir: true }, false, log)
    expect(lines.join('')).toContain('NEW_DATA_DIR=true is for one start')
  })
})

test('a misspelt variable ends the start of a process in one line that names it and what was meant', async () => {
  const data = await dataFolder()
  await expect(startServer(data, { TRUSTED_PROXYS: '127.0.0.1' })).rejects.toThrow(
    /^the server ended: gateway: TRUSTED_PROXYS is not a setting\. Did you mean TRUSTED_PROXIES, such as [^\n]*\n$/,
  )
  const server = await startServer(data, { TRUSTED_PROXYS: '127.0.0.1', TRUSTED_PROXIES: '127.0.0.1' })
  expect(server.output()).toContain('TRUSTED_PROXYS is not a setting and is ignored; TRUSTED_PROXIES is set too')
  await server.kill('SIGTERM')
  await removeFolder(data)
})
