import { describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOnlyRecords } from '../../server/compose/cluster/cells/directory-sync'
import { openControl } from '../../server/compose/control'
import { LaterOpening } from '../../server/core/cluster/opening'
import { syncDirectory } from '../../server/core/cluster/sync-directory'
import { readTestConfig } from '../support/harness'
import { NOON, openTestStores } from '../support/ledger-parts'

/** ADR 62: what a gateway that is prepared knows when it begins. */
describe('a gateway that is prepared', () => {
  test('begins with MODELS_FILE as it is then: a price may have changed since', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'prepared-'))
    const MODELS_FILE = join(folder, 'models.json')
    const priced = (output: number) => {
      const upstream = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1' }
      return writeFile(MODELS_FILE, JSON.stringify({ models: [{ id: 'paid', upstream, price: { input: 1, output } }] }))
    }
    const parts = await openTestStores()
    try {
      await priced(10)
      const opening = new LaterOpening()
      const config = readTestConfig({ DATA_DIR: folder, MODELS_FILE })
      const { catalog } = await openControl(config, parts.stores, { clock: { now: () => NOON }, opening })
      const before = catalog.byId('paid')?.price
      await priced(1000)
      expect(catalog.byId('paid')?.price).toEqual(before as never)
      await opening.begin()
      expect(catalog.byId('paid')?.price).not.toEqual(before as never)
    } finally {
      await parts.close()
      await rm(folder, { recursive: true, force: true })
    }
  })

  test('writes nothing into the directory: what that lacks keeps the cell from being prepared', async () => {
    const added: unknown[] = []
    const part = {
      holders: async () => new Map([['known', 'c2']]),
      add: async (rows: readonly unknown[]) => void added.push(rows) as never,
    }
    const { keys } = readOnlyRecords({ keys: part, payments: part, accounts: part as never })
    const contents = (name: string) => {
      const row = { name, shown: name, keepUntil: null }
      return { newest: async (before: unknown) => (before ? [] : [row]) }
    }
    expect(await syncDirectory('c2', contents('known'), keys)).toEqual({ added: 0, disputed: [] })
    expect(await syncDirectory('c2', contents('new'), keys).catch(String)).toBe(
      'Error: the directory lacks records of this cell',
    )
    expect(added).toEqual([])
  })
})
