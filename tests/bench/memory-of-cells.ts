import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownersOf } from '../support/cluster/cluster'
import { until } from '../support/until'
import { openDatabase } from './cells'
import { fillWithKeys, SETTLE_MS } from './memory'
import { residentMb } from './proc'
import { table } from './statistics'
import { SERVER_CORE, type Workshop } from './workshop'

/** One node that owns so many cells. */
interface OneNode {
  readonly cells: number
  readonly accountsEach: number
  readonly residentMb: number
  /** From the start of the process until it owns every cell. */
  readonly startMs: number
}

export type CellMemoryResult = readonly OneNode[]

/** Starts one node with 1, 2 and 4 cells: empty ones, then with so many accounts of a key each in every cell. */
export async function measureCellMemory(workshop: Workshop, accountsEach: number): Promise<CellMemoryResult> {
  const found: OneNode[] = []
  for (const count of [1, 2, 4]) {
    const folder = await workshop.folder(`memory-of-${count}-cells`)
    const names = Array.from({ length: count }, (_, i) => `cell-${i + 1}`)
    const databases = await Promise.all(names.map((name) => openDatabase(workshop, folder, name)))
    const [main, ...more] = databases.map(({ url }) => url)
    const settings = {
      ...{ DATABASE_URL: main, DATABASE_SYNC: 'promised', SOCIAL_PROVIDER: 'none', PAYMENTS: 'off' },
      ...(more.length > 0 && { CELL_DATABASE_URLS: more.join() }),
    }
    const started = async () => {
      const own = await workshop.folder('node')
      writeFileSync(join(own, 'env.json'), JSON.stringify(settings))
      const from = performance.now()
      const node = await workshop.node(own, 'http://127.0.0.1:9', SERVER_CORE)
      const owned = async () => Object.values(await ownersOf({ folder: own })).filter((url) => url !== null).length
      await until(async () => (await owned()) === count)
      return { node, own, ms: Math.round(performance.now() - from) }
    }
    const measure = async (accounts: number) => {
      const { node, own, ms } = await started()
      await Bun.sleep(SETTLE_MS)
      found.push({ cells: count, accountsEach: accounts, residentMb: residentMb(node.pid), startMs: ms })
      await node.stop()
      workshop.removeFolder(own)
    }
    // The first start makes the tables, the one after the accounts tells the directory of them.
    await (await started()).node.stop()
    await measure(0)
    for (const [i, { url }] of databases.entries())
      await fillWithKeys(url, { keys: accountsEach, perAccount: 1, from: i * accountsEach })
    await (await started()).node.stop()
    await measure(accountsEach)
    for (const database of databases) database.stop()
    workshop.removeFolder(folder)
  }
  return found
}

export function describeCellMemory(result: CellMemoryResult): string {
  return table(
    ['Cells of the node', 'accounts in each', 'RSS MB', 'start ms'],
    result.map((one) => [one.cells, one.accountsEach.toLocaleString('en'), one.residentMb.toFixed(0), one.startMs]),
  )
}
