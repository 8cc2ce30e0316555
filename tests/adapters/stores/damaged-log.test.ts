import { expect, test } from 'bun:test'
import {
  closeSync,
  copyFileSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { charge, openTestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

const CALLERS = 20

/** The damages of a log under a running gateway. */
const DAMAGES: readonly (readonly [name: string, damage: (log: string) => void])[] = [
  ['cut to nothing', (log) => truncateSync(log, 0)],
  ['cut in the middle of a line', (log) => truncateSync(log, readFileSync(log).length - 10)],
  ['deleted', (log) => rmSync(log, { force: true })],
  [
    'replaced by a copy of itself',
    (log) => {
      copyFileSync(log, `${log}.copy`)
      renameSync(`${log}.copy`, log)
    },
  ],
  [
    'overwritten',
    (log) => {
      const fd = openSync(log, 'r+')
      writeSync(fd, Buffer.alloc(100), 0, 100, Math.max(0, fstatSync(fd).size - 100))
      closeSync(fd)
    },
  ],
]

for (const [name, damage] of DAMAGES)
  test(`a log that is ${name} during charges loses no charge, and the process ends`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-damaged-'))
    const ended = Promise.withResolvers<string>()
    const stores = await openTestStores({ folder, onFatal: ended.resolve })
    const account = await stores.account(10_000_000)
    const log = `${stores.file}.log`
    let over = false
    void ended.promise.then(() => (over = true))
    let [acknowledged, refused] = [0, 0]
    const keepCharging = async (id: AccountId) => {
      while (!over) {
        const outcome = await appended(stores.journal, charge(id, 5))
        if (over) return // a process that has ended answers no caller
        if (outcome.kind === 'committed') acknowledged++
        else refused++
        if (outcome.kind === 'committed' && acknowledged % (10 * CALLERS) === 0) damage(log)
        if (refused > 0) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    for (let i = 0; i < CALLERS; i++) void keepCharging(account)
    const reason = await ended.promise
    expect(reason).toMatch(
      /^the log is damaged: [^\n]+\. Every charge that was answered is in the database now;[^\n]+$/,
    )
    await stores.close()
    const { charges, problems } = await reconcile(stores.file)
    expect(problems).toEqual([])
    expect(acknowledged).toBeGreaterThanOrEqual(10 * CALLERS)
    expect(charges).toBe(acknowledged)
    const next = await openTestStores({ folder })
    expect((await appended(next.journal, charge(account, 5))).kind).toBe('committed')
    await next.close()
    expect(await reconcile(stores.file)).toMatchObject({ charges: acknowledged + 1, problems: [] })
    rmSync(folder, { recursive: true, force: true })
  })
