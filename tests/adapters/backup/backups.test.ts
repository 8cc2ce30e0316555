import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBackupTarget } from '../../../server/adapters/backup/open-target'
import { lockDataFolder } from '../../../server/adapters/stores/libsql/driver/file/held-file'
import { backupWork } from '../../../server/compose/backup/backups'
import { RESTORED } from '../../../server/compose/backup/restore'
import { type CopyManifest, copyName, MANIFEST, surplusCopies } from '../../../server/core/backup/copy'
import { BackupProblem, type BackupTarget, findCopy } from '../../../server/core/backup/target'
import { VERSION } from '../../../server/core/version'
import { chargedIds, executeOn, openFile } from '../../support/databases/database-file'
import { restoredCopy } from '../../support/databases/restored-copy'
import { openS3Server } from '../../support/doubles/s3-server'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
const CLIENTS = 32
/** At most this many calls while the copy is made. */
const MAX_CALLS = 3_000

let folder: string
let h: Harness
let key: MadeKey
let s3: ReturnType<typeof openS3Server>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backups-'))
  h = await openHarness()
  key = await h.key(await h.account(1_000))
  s3 = openS3Server()
})
afterAll(async () => {
  await h.close()
  s3.close()
  await rm(folder, { recursive: true, force: true })
})

const place = (name: string) => openBackupTarget(join(folder, name), { access: null, workFolder: '' })
const bucket = (prefix: string) =>
  openBackupTarget(`s3://backups/${prefix}`, { access: s3.access, workFolder: join(folder, 'work') })

async function backup(target: BackupTarget, { verify = false, keep = null as number | null } = {}) {
  h.clock.advance(1000)
  return h.gateway.backups.commands.backups.start({ target, verify, keep }).result
}

const restore = (target: BackupTarget, copy: CopyManifest, dataDir: string) =>
  restoredCopy({ target, copy, dataDir, now: h.clock.now() })

/** All that a place does, to change a part of it. */
const forwarding = (target: BackupTarget): BackupTarget => ({
  location: target.location,
  writeProblem: () => target.writeProblem(),
  copies: () => target.copies(),
  draft: (name) => target.draft(name),
  fetch: (copy, file, to) => target.fetch(copy, file, to),
  remove: (copy) => target.remove(copy),
})

/** Makes one paid call; its id if it was answered 200. */
async function call(): Promise<string | null> {
  const answer = await h.as(key, SEARCH)
  await answer.body?.cancel()
  return answer.status === 200 ? answer.headers.get('x-request-id') : null
}

test('a copy that is made under load has every call that was answered before it began, and a gateway goes on with it', async () => {
  const answered: string[] = []
  let isDone = false
  const begun = Promise.withResolvers<void>()
  const client = async () => {
    while (!isDone && answered.length < MAX_CALLS) {
      const id = await call()
      if (id !== null) answered.push(id)
      if (answered.length === CLIENTS * 10) begun.resolve()
    }
  }
  const load = Promise.all(Array.from({ length: CLIENTS }, client))
  await begun.promise
  const before = answered.slice()
  const { copy } = await backup(place('load'))
  const during = answered.length - before.length
  isDone = true
  await load
  expect(during).toBeGreaterThan(0)

  const dataDir = join(folder, 'load-restored')
  const file = await restore(place('load'), copy, dataDir)
  const kept = await chargedIds(file)
  expect(before.filter((id) => !kept.has(id))).toEqual([])
  expect((await reconcile(file)).problems).toEqual([])
  const again = await openHarness({ folder: dataDir })
  expect((await again.as(key, SEARCH)).status).toBe(200)
  await again.close(true)
  expect((await reconcile(file)).problems).toEqual([])
})

test('a copy has the charges that are only in the log, because the database takes no writes', async () => {
  const blocker = openFile(h.databaseFile)
  const lock = await blocker.transaction('write')
  const charged = [await call(), await call()]
  expect(h.core.stores.journalState().unappliedBytes).toBeGreaterThan(0)
  const { copy } = await backup(place('stuck'))
  await lock.rollback()
  blocker.close()
  const file = await restore(place('stuck'), copy, join(folder, 'stuck-restored'))
  const kept = await chargedIds(file)
  expect(charged.filter((id) => id === null || !kept.has(id))).toEqual([])
  expect((await reconcile(file)).problems).toEqual([])
})

describe.each([
  ['a folder', place],
  ['a bucket', bucket],
])('%s', (_, at) => {
  test('gets a copy that verifies, and keeps the newest ones of this gateway only', async () => {
    await call()
    const target = at('kept')
    const first = await backup(target, { verify: true })
    expect(first.copy).toMatchObject({ version: VERSION, secrets: ['SECRET_KEY'] })
    const foreign: CopyManifest = { ...first.copy, name: copyName(1000), takenAt: 1000, secretMark: 'of another' }
    const draft = await target.draft(foreign.name)
    await target.fetch(first.copy, 'gateway.db', join(draft.folder, 'gateway.db'))
    await draft.publish(foreign, () => undefined)
    await draft.discard()
    const second = await backup(target, { keep: 2 })
    expect(second.removed).toEqual([])
    const third = await backup(target, { keep: 2 })
    expect(third.removed).toEqual([first.copy.name])
    expect((await target.copies()).map(({ name }) => name)).toEqual([foreign.name, second.copy.name, third.copy.name])
  })

  test('removes a new copy that does not verify, and no older one', async () => {
    const target = at('verified')
    const good = await backup(target)
    const lying: BackupTarget = {
      ...forwarding(target),
      fetch: async (copy, file, to) => {
        await target.fetch(copy, file, to)
        await writeFile(to, 'what a broken disk gave back')
      },
    }
    await expect(backup(lying, { verify: true, keep: 1 })).rejects.toThrow('is damaged')
    expect(await target.copies()).toEqual([good.copy])
  })

  test('keeps nothing of a copy that could not be completed, and every older copy', async () => {
    const target = at('failing')
    const good = await backup(target)
    const backups = h.gateway.backups.commands.backups
    const failing: BackupTarget = {
      ...forwarding(target),
      async draft(name) {
        const draft = await target.draft(name)
        return { ...draft, publish: () => Promise.reject(new Error('the disk is full')) }
      },
    }
    h.clock.advance(1000)
    await expect(backups.start({ target: failing, verify: false, keep: 1 }).result).rejects.toThrow('the disk is full')
    expect(backups.state()).toMatchObject({ running: null, lastFailure: { reason: 'the disk is full' } })
    expect(await target.copies()).toEqual([good.copy])
  })

  test('refuses to restore into a folder with data', async () => {
    const target = at('refusing')
    const { copy } = await backup(target)
    const dataDir = join(folder, `${copy.name}-full`)
    await Bun.write(join(dataDir, 'notes.txt'), 'mine')
    await expect(restore(target, copy, dataDir)).rejects.toThrow('is not empty: it has notes.txt')
    const running = await lockDataFolder(dataDir)
    const refused = await restore(target, copy, dataDir).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(BackupProblem)
    expect(String(refused)).toContain('is in use by another gateway')
    running.release()
    expect(await readdir(dataDir)).toContain('notes.txt')
    expect(await readdir(dataDir)).not.toContain('gateway.db')
  })
})

test('a place where no copy could be written says so, and looking leaves nothing behind', async () => {
  const file = join(folder, 'a-file')
  await writeFile(file, '')
  expect(await place('a-file').writeProblem()).toBe(`${file} cannot be written: ${file} is not a folder`)
  expect(await place('a-file/below').writeProblem()).toContain('cannot be written: ENOTDIR')
  expect(await openBackupTarget('/proc/copies', { access: null, workFolder: '' }).writeProblem()).toContain('/proc')
  expect(await place('not/there/yet').writeProblem()).toBeNull()
  expect(await readdir(folder)).not.toContain('not')
  expect(await bucket('new').writeProblem()).toBeNull()
  expect(await bucket('new').copies()).toEqual([])
  const wrong = openBackupTarget('s3://nowhere/x', { access: s3.access, workFolder: '' })
  expect(await wrong.writeProblem()).toContain('NoSuchBucket')
})

test('a store that fails in the middle keeps nothing of the copy; the failure is reported without its key', async () => {
  const target = bucket('breaking')
  const good = await backup(target)
  s3.fail.puts = 100
  const failure = await backup(target, { keep: 1 }).catch((error: Error) => error.message)
  s3.fail.puts = 0
  expect(failure).toStartWith('s3://backups/breaking failed: ')
  expect(failure).not.toContain(s3.access.secretAccessKey)
  expect(await target.copies()).toEqual([good.copy])
  const names = [...s3.objects.keys()].filter((name) => name.startsWith('breaking/'))
  expect(names.filter((name) => !name.includes(good.copy.name))).toEqual([])
})

test('a damaged copy is not restored, leaves nothing, and the next restore succeeds', async () => {
  const target = place('damaged')
  const { copy } = await backup(target)
  const file = join(folder, 'damaged', copy.name, 'gateway.db')
  const bytes = await readFile(file)
  const damaged = Buffer.from(bytes)
  damaged[5000] = (damaged[5000] ?? 0) ^ 1
  await writeFile(file, damaged)
  const dataDir = join(folder, 'damaged-restored')
  await Bun.write(join(dataDir, 'secret_key'), 'the secret that the operator brought, long enough')
  await expect(restore(target, copy, dataDir)).rejects.toThrow('its checksum is not the one in the manifest')
  const work = backupWork({ dataDir, databaseUrl: '', backup: { access: null, secrets: [], secretMark: '' } })
  await expect(work.verify(target, copy, () => undefined)).rejects.toThrow('its checksum')
  expect((await readdir(dataDir)).filter((name) => !['lock', 'secret_key', 'tmp'].includes(name))).toEqual([])
  await writeFile(file, bytes)
  // As a restore leaves it that was killed before the database appeared.
  await writeFile(join(dataDir, RESTORED), '{}')
  await writeFile(join(dataDir, 'gateway.db.restoring'), 'half')
  await restore(target, copy, dataDir)
  expect(JSON.parse(await readFile(join(dataDir, RESTORED), 'utf8'))).toMatchObject({ copy: copy.name })
  expect((await readdir(dataDir)).sort()).toEqual(expect.arrayContaining(['gateway.db', RESTORED, 'secret_key']))
})

test('a copy without a manifest is none, and a copy has no secret', async () => {
  const target = place('plain')
  const { copy } = await backup(target)
  const at = join(folder, 'plain', copy.name)
  const everything = Buffer.concat(await Promise.all((await readdir(at)).map((name) => readFile(join(at, name)))))
  expect(everything.includes(h.config.secretKey)).toBe(false)
  expect(everything.includes(key.secret)).toBe(false)
  await rm(join(at, MANIFEST))
  await expect(findCopy(target, null)).rejects.toThrow('has no complete copy')
})

test('a copy of a newer gateway is refused in one line', async () => {
  const target = place('newer')
  const { copy } = await backup(target)
  const file = join(folder, 'newer', copy.name, 'gateway.db')
  await executeOn(file, "INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 99999999999999)")
  const bytes = await readFile(file)
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
  const newer = { ...copy, files: [{ name: 'gateway.db', bytes: bytes.length, sha256 }] }
  await expect(restore(target, newer, join(folder, 'newer-restored'))).rejects.toThrow('a newer gateway made the copy')
})

test('books that disagree do not cost the backups: such a copy says so, verifies and can be restored; a copy that is worse is refused', async () => {
  const credit = (change: number) => executeOn(h.databaseFile, 'UPDATE accounts SET credit = credit + ?', [change])
  const target = place('disagreeing')
  await credit(1)
  const { copy } = await backup(target, { verify: true })
  await credit(-1)
  expect(copy.problems).toBe(1)
  await restore(target, copy, join(folder, 'disagreeing-restored'))
  const lying = { ...copy, problems: 0 }
  await expect(restore(target, lying, join(folder, 'lying-restored'))).rejects.toThrow(
    'disagree (problems: 1; in the original: 0)',
  )
})

test('a place that cannot be used is named, with what to do', async () => {
  expect(() => openBackupTarget('s3://backups/x', { access: null, workFolder: '' })).toThrow('needs AWS_ACCESS_KEY_ID')
  expect(() => openBackupTarget('s3:backups', { access: s3.access, workFolder: '' })).toThrow('s3://bucket/prefix')
  await Bun.write(join(folder, 'a file'), '')
  await expect(backup(place('a file'))).rejects.toThrow('cannot be written')
  const elsewhere = openBackupTarget('s3://others/x', { access: s3.access, workFolder: join(folder, 'work') })
  await expect(backup(elsewhere)).rejects.toThrow('s3://others/x failed')
})

test('an operator starts a backup over the socket, reads its status and the list; it is in the audit log', async () => {
  const order = async (path: string, body?: object) => {
    const answer = await h.control(path, body)
    return { status: answer.status, ...(await answer.json()) }
  }
  expect(await order('/backups', {})).toMatchObject({ status: 409, error: { code: 'invalid_state' } })
  const to = join(folder, 'ordered')
  // Both at once: the first cannot have ended when the second comes.
  const [{ name }, second] = await Promise.all([order('/backups', { to }), order('/backups', { to })])
  expect(second.error.message).toContain('has been running since')
  await until(async () => (await order('/backups/status')).running === null)
  expect(await order('/backups/status')).toMatchObject({
    last_success: { name, location: to, copy: { version: VERSION } },
  })
  expect((await order(`/backups?to=${encodeURIComponent(to)}`)).copies).toHaveLength(1)
  const rows = await executeOn(h.databaseFile, "SELECT detail FROM audit_log WHERE action = 'backup.start'")
  expect(rows.map((row) => JSON.parse(String(row['detail'])))).toEqual([{ name, location: to }])
})

test('the newest copy stays, whatever the number to keep', () => {
  const copy = {
    name: copyName(0),
    takenAt: 0,
    version: '',
    schema: 0,
    problems: 0,
    files: [],
    secrets: [],
    secretMark: 'm',
  }
  expect(surplusCopies([copy], 0, 'm')).toEqual([])
})
