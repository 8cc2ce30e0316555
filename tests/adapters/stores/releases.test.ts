import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { openBackupTarget } from '../../../server/adapters/backup/open-target'
import { findCopy } from '../../../server/core/backup/target'
import { VERSION } from '../../../server/core/version'
import { chargedIds, executeOn } from '../../support/databases/database-file'
import { olderDatabase } from '../../support/databases/older-database'
import { restoredCopy } from '../../support/databases/restored-copy'
import { openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { extractRelease, RELEASES, SEARCH } from '../../support/release-fixture'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'releases-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const query = async (file: string, sql: string) => (await executeOn(file, sql)).map((row) => Object.values(row)[0])

describe.each((await readdir(RELEASES)).map((name) => [basename(name, '.tar.zst')]))(
  'data of version %s',
  (version) => {
    test('opens: the owner signs in, keys work or not as before, the charges of its log are there, the books agree', async () => {
      const dataDir = join(folder, version)
      const expected = await extractRelease(version, dataDir)
      const h = await openHarness({ folder: dataDir })
      expect(h.fatal).toEqual([])
      const owner = await h.signIn(expected.email)
      const account = await (await owner.api('/api/account')).json()
      expect(account.balance_micros_usd).toBe(expected.balanceMicros)
      expect((await h.as(expected.secret, SEARCH)).status).toBe(200)
      expect((await h.as(expected.revokedSecret, SEARCH)).status).toBe(401)
      await h.close(true)
      const file = join(dataDir, 'gateway.db')
      const charged = [...(await chargedIds(file))]
      expect(charged).toEqual(expect.arrayContaining([...expected.charged]))
      expect(charged).toHaveLength(expected.charged.length + 1)
      expect((await reconcile(file)).problems).toEqual([])
    })
  },
)

test('every version that was released has its data here', async () => {
  const changelog = await readFile(join(import.meta.dir, '../../../docs/CHANGELOG.md'), 'utf8')
  const released = [...changelog.matchAll(/^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$/gm)].map(([, version]) => version)
  expect(released.length).toBeGreaterThan(0)
  expect((await readdir(RELEASES)).sort()).toEqual(released.map((version) => `${version}.tar.zst`).sort())
})

/** Keys of before migration 42, by whom the audit log says that they were made. */
const MADE = [
  ['key_1', null, 'key.create'],
  ['key_2', 'conn_1', 'key.create'],
  ['key_3', 'conn_2', 'key.rotate'],
] as const

test('an upgrade copies the data first, says how long it may take, and the copy can be restored', async () => {
  const dataDir = join(folder, 'older')
  await olderDatabase(dataDir, '0028_upstream_payment_account', async (client) => {
    await client.execute("INSERT INTO accounts (id, user_id, operator, created_at) VALUES ('acct_1', 'u1', 0, 1)")
    await client.execute("INSERT INTO pools (id, account_id) VALUES ('pool_1', 'acct_1')")
    for (const [id, maker, action] of MADE) {
      await client.execute(
        `INSERT INTO keys (id, account_id, pool_id, hash, prefix, last4, name, allowed_ips, allowed_endpoints, allowed_models, created_at)
         VALUES ('${id}', 'acct_1', 'pool_1', '${id}', 'gwk_', '1234', '${id}', '[]', '[]', '[]', 1)`,
      )
      const [about, detail] = action === 'key.rotate' ? ['key_0', `{"successor":"${id}"}`] : [id, '{}']
      await client.execute(
        `INSERT INTO audit_log (id, at, actor_kind, actor_id, account_id, key_id, action, detail)
         VALUES ('audit_${id}', 1, '${maker === null ? 'owner' : 'app'}', '${maker ?? 'u1'}', 'acct_1', '${about}', '${action}', '${detail}')`,
      )
    }
  })
  await rm(join(dataDir, 'migrations'), { recursive: true })
  const h = await openHarness({ folder: dataDir })
  const lines = h.logged.join('')
  expect(lines).toContain('upgrading the database; it is copied first')
  expect(lines).toMatch(/its upgrade takes at most about this long \{"seconds":\d+,"bytes":\d+/)
  await h.close(true)
  expect(await query(h.databaseFile, 'SELECT created_by FROM keys ORDER BY id')).toEqual(MADE.map(([, maker]) => maker))
  const place = openBackupTarget(join(dataDir, 'before-upgrade'), { access: null, workFolder: '' })
  const copy = await findCopy(place, null)
  const restored = await restoredCopy({ target: place, copy, dataDir: join(folder, 'older-restored'), now: 0 })
  const steps = (file: string) => query(file, 'SELECT count(*) FROM __drizzle_migrations')
  expect(await steps(restored)).toEqual([28])
  expect(await query(restored, 'SELECT id FROM accounts')).toEqual(['acct_1'])
})

test('an upgrade that fails changes nothing', async () => {
  const dataDir = join(folder, 'failing')
  await olderDatabase(dataDir, '0033_staff', async (client) => {
    await client.execute('CREATE TABLE notice_mails (in_the_way TEXT)')
  })
  await rm(join(dataDir, 'migrations'), { recursive: true })
  const file = join(dataDir, 'gateway.db')
  const schema = () => query(file, 'SELECT sql FROM sqlite_master ORDER BY name')
  const before = await schema()
  await expect(openHarness({ folder: dataDir })).rejects.toThrow('nothing in it was changed')
  expect(await schema()).toEqual(before)
})

test('an older gateway refuses the data of a newer one in one line, and leaves it as it is', async () => {
  const first = await openHarness()
  await first.close(true)
  const file = first.databaseFile
  await executeOn(file, "INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 4102444800000)")
  const epoch = () => query(file, 'SELECT epoch FROM owner')
  const before = await epoch()
  const refusal = await openHarness({ folder: first.folder }).catch((error: Error) => error.message)
  expect(refusal).toContain(`a newer version of the gateway (${VERSION}, schema of 2100-01-01T00:00:00.000Z`)
  expect(refusal).not.toContain('\n')
  expect(await epoch()).toEqual(before)
  await rm(first.folder, { recursive: true })
})
