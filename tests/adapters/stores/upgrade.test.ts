import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBackupTarget } from '../../../server/adapters/backup/open-target'
import journal from '../../../server/adapters/stores/libsql/migrations/meta/_journal.json'
import type { Migrations } from '../../../server/adapters/stores/libsql/upgrade'
import { upgradeCopy } from '../../../server/compose/backup/upgrade-copy'
import { findCopy } from '../../../server/core/backup/target'
import { VERSION } from '../../../server/core/version'
import { executeOn } from '../../support/databases/database-file'
import { writeMigratedDatabase } from '../../support/databases/migrated-database'
import { NOON, openTestStores } from '../../support/ledger-parts'
import { TEST_THREADS } from '../../support/test-threads'

const MIGRATIONS = join(import.meta.dir, '../../../server/adapters/stores/libsql/migrations')
const FIRST = Math.min(...journal.entries.map(({ when }) => when))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upgrade-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The data folder of a gateway that stopped, of this version or of an older one whose last migration is of that time. */
async function dataOf(name: string, schema: number | null = null): Promise<string> {
  const dataDir = join(folder, name)
  const file = join(dataDir, 'gateway.db')
  await writeMigratedDatabase(file)
  if (schema !== null) await executeOn(file, 'UPDATE __drizzle_migrations SET created_at = ?', [schema])
  return dataDir
}

/** Those of the version whose last migration comes before `tag`. */
async function migrationsBefore(tag: string): Promise<Migrations> {
  const before = await mkdtemp(join(folder, 'migrations-'))
  await cp(MIGRATIONS, before, { recursive: true })
  const entries = journal.entries.slice(
    0,
    journal.entries.findIndex((entry) => entry.tag === tag),
  )
  await Bun.write(join(before, 'meta', '_journal.json'), JSON.stringify({ ...journal, entries }))
  return { folder: before, entries }
}

/** The migrations of a later version, which has one more than this. */
async function laterMigrations(sql: string): Promise<Migrations> {
  const later = await mkdtemp(join(folder, 'migrations-'))
  await cp(MIGRATIONS, later, { recursive: true })
  const last = journal.entries.at(-1)
  if (!last) throw new Error('no migration')
  const entries = [...journal.entries, { ...last, idx: last.idx + 1, when: last.when + 1, tag: '9999_later' }]
  await Bun.write(join(later, 'meta', '_journal.json'), JSON.stringify({ ...journal, entries }))
  await Bun.write(join(later, '9999_later.sql'), sql)
  return { folder: later, entries }
}

const query = async (file: string, sql: string) => (await executeOn(file, sql)).map((row) => Object.values(row)[0])

test('an upgrade copies the data first, and says how long it may take', async () => {
  const dataDir = await dataOf('older')
  const logged: string[] = []
  const log = { info: (line: string) => logged.push(line), warn: () => undefined, error: () => undefined }
  const backup = { beforeUpgrade: true, secrets: [], secretMark: '' }
  const beforeUpgrade = upgradeCopy({ dataDir, backup } as unknown as Parameters<typeof upgradeCopy>[0], {
    clock: { now: () => NOON },
    log: log as unknown as Parameters<typeof upgradeCopy>[1]['log'],
    threads: TEST_THREADS,
  })
  const migrations = await laterMigrations('CREATE TABLE `later` (`id` text PRIMARY KEY NOT NULL);')
  const { file, close } = await openTestStores({ folder: dataDir, migrations, beforeUpgrade })
  await close()
  expect(logged).toEqual([
    'upgrading the database; it is copied first',
    'the database was copied; its upgrade takes at most about this long',
  ])
  const tables = "SELECT name FROM sqlite_master WHERE name = 'later'"
  expect(await query(file, tables)).toEqual(['later'])
  const place = openBackupTarget(join(dataDir, 'before-upgrade'), { access: null, workFolder: '' })
  const { name } = await findCopy(place, null)
  expect(await query(join(dataDir, 'before-upgrade', name, 'gateway.db'), tables)).toEqual([])
})

test('an upgrade that fails changes nothing', async () => {
  const dataDir = await dataOf('failing')
  const migrations = await laterMigrations(
    'CREATE TABLE `new` (`id` text);--> statement-breakpoint\nCREATE TABLE `accounts` (`id` text);',
  )
  const file = join(dataDir, 'gateway.db')
  const schema = () => query(file, 'SELECT sql FROM sqlite_master ORDER BY name')
  const before = await schema()
  await expect(openTestStores({ folder: dataDir, migrations })).rejects.toThrow('nothing in it was changed')
  expect(await schema()).toEqual(before)
})

test.each([
  [
    'newer',
    4_102_444_800_000,
    `a newer version of the gateway (schema of 2100-01-01T00:00:00.000Z; this is ${VERSION}`,
  ],
  ['older', FIRST - 1, 'a gateway before 0.9.0'],
])(
  'the data of a %s gateway whose tables are unknown is refused in one line, and stays as it is',
  async (name, schema, said) => {
    const dataDir = await dataOf(`unknown-${name}`, schema)
    const epoch = () => query(join(dataDir, 'gateway.db'), 'SELECT epoch FROM owner')
    const before = await epoch()
    const refusal = await openTestStores({ folder: dataDir }).catch((error: Error) => error.message)
    expect(refusal).toContain(said)
    expect(refusal).not.toContain('\n')
    expect(await epoch()).toEqual(before)
  },
)

test('the accounts of a gateway before workspaces become workspaces of their owners, with whose keys and apps they were', async () => {
  const dataDir = await mkdtemp(join(folder, 'accounts-of-users-'))
  const old = await openTestStores({ folder: dataDir, migrations: await migrationsBefore('0007_workspaces') })
  await old.close()
  const rows = [
    "INSERT INTO identity_user (id, name, email, created_at, updated_at) VALUES ('ada', 'Ada', 'ada@example.com', 1, 1)",
    "INSERT INTO account_directory (account_id, user_id, created_at) VALUES ('acct_a', 'ada', 7), ('acct_gone', 'nobody', 8)",
    "INSERT INTO accounts (id, user_id, created_at) VALUES ('acct_a', 'ada', 7)",
    "INSERT INTO pools (id, account_id) VALUES ('pool_k', 'acct_a'), ('pool_c', 'acct_a')",
    `INSERT INTO keys (id, account_id, pool_id, hash, prefix, last4, name, allowed_ips, allowed_endpoints, allowed_models, created_at)
      VALUES ('key_k', 'acct_a', 'pool_k', 'h', 'p', 'last', 'k', '[]', '[]', '[]', 9)`,
    "INSERT INTO connections (id, account_id, pool_id, client_id, created_at) VALUES ('conn_c', 'acct_a', 'pool_c', 'app', 9)",
  ]
  for (const sql of rows) await executeOn(old.file, sql)
  const { file, close } = await openTestStores({ folder: dataDir })
  await close()
  expect(await executeOn(file, 'SELECT id, name, slug, created_at FROM identity_organization')).toMatchObject([
    { id: 'acct_a', name: 'Ada', slug: 'acct_a', created_at: 7 },
  ])
  expect(await executeOn(file, 'SELECT organization_id, user_id, role FROM identity_member')).toMatchObject([
    { organization_id: 'acct_a', user_id: 'ada', role: 'owner' },
  ])
  expect(await query(file, 'SELECT made_by FROM keys')).toEqual(['ada'])
  expect(await query(file, 'SELECT user_id FROM connections')).toEqual(['ada'])
})
