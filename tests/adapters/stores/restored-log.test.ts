import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { joinProblem } from '../../../server/adapters/stores/libsql/backup/restored-log'
import { decodeLog, encodeLine } from '../../../server/adapters/stores/libsql/journal/log-format'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { IS_SERVER } from '../../support/databases/test-database'
import { charge, openTestStores, type TestStores } from '../../support/ledger-parts'
import { TEST_THREADS } from '../../support/test-threads'

let stores: TestStores
let account: AccountId
beforeEach(async () => {
  stores = await openTestStores()
  account = await stores.account()
})
afterEach(() => stores.close())

async function charges(count: number, to = stores): Promise<void> {
  for (let i = 0; i < count; i++) expect((await appended(to.journal, charge(account, 10))).kind).toBe('committed')
  await to.applied()
}

/** A copy of the tables, as Litestream restores one. */
function copied(name: string, from = stores): string {
  const path = join(stores.folder, name)
  const database = new Database(from.file, { readonly: true })
  database.run(`VACUUM INTO '${path}'`)
  database.close()
  return path
}

const logOf = (of = stores) => readFile(`${of.file}.log`)
const problemOf = (file: string, log: Uint8Array) => joinProblem(file, log, TEST_THREADS)

test.skipIf(IS_SERVER)(
  'a log continues a copy that no gateway served since, and says how many groups the copy lacks',
  async () => {
    await charges(4)
    const copy = copied('copy.db')
    await charges(3)
    expect(await problemOf(copy, await logOf())).toEqual({ problem: null, groups: 3 })
    expect(await problemOf(copied('newest.db'), await logOf())).toEqual({ problem: null, groups: 0 })
    expect(await problemOf(copy, new Uint8Array())).toEqual({ problem: null, groups: 0 })
  },
)

test.skipIf(IS_SERVER)('a log with a gap, one that ends too early, and a damaged one are refused', async () => {
  await charges(4)
  const copy = copied('copy.db')
  await charges(3)
  const { lines } = decodeLog(await logOf())
  const some = (from: number, to?: number) => Buffer.concat(lines.slice(from, to).map(encodeLine))
  expect((await problemOf(copy, some(4))).problem).toBeNull()
  expect((await problemOf(copy, some(5))).problem).toContain('the log begins with group')
  expect((await problemOf(copy, some(0, 3))).problem).toContain('the log ends with group')
  const damaged = Buffer.concat([some(0, 5), Buffer.from('x\n'), some(5)])
  expect((await problemOf(copy, damaged)).problem).toContain('damaged')
})

test.skipIf(IS_SERVER)(
  'a log is refused for a database that was served without it, and for another database',
  async () => {
    await charges(4)
    const folder = join(stores.folder, 'served')
    await mkdir(folder)
    await copyFile(copied('copy.db'), join(folder, 'gateway.db'))
    await charges(3)
    const log = await logOf()
    const served = await openTestStores({ folder })
    try {
      for (const more of [1, 1, 1]) {
        await charges(more, served)
        expect((await problemOf(copied(`${crypto.randomUUID()}.db`, served), log)).problem).toContain(
          'is another one there',
        )
      }
      await charges(1, served)
      expect((await problemOf(copied('more.db', served), log)).problem).toContain('was served since without it')
    } finally {
      await served.close()
    }
    const other = await openTestStores()
    try {
      await other.account()
      expect((await problemOf(copied('other.db', other), log)).problem).toContain('the log of another database')
    } finally {
      await other.close()
    }
  },
)
