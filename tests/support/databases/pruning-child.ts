import { writeSync } from 'node:fs'
import type { AccountId, RequestId } from '../../../server/core/ids'
import { call, charge, NOON, openTestStores, requestIdAt } from '../ledger-parts'

/** Removes old rows of the request log in small steps and charges calls meanwhile, until it is killed: `FOLDER ACCOUNT`. */

export const PRICE = 5
export const OLD_ROWS = 600
const DAY_MS = 86_400_000
export const CUTOFF = NOON + 2 * DAY_MS
const ROWS_A_STEP = 3

/** An old call: one a minute. */
export function oldId(i: number): { readonly id: RequestId; readonly at: number } {
  const at = NOON + i * 60_000
  return { id: requestIdAt(at, i), at }
}

async function pruneAndCharge(folder: string, account: AccountId): Promise<void> {
  const stores = await openTestStores({ folder })
  const charging = async () => {
    for (;;) {
      const at = NOON + 3 * DAY_MS
      const more = { id: `req_${at.toString(16).padStart(12, '0')}${randomHex()}`, at } as const
      const record = call(account, PRICE, more)
      const outcome = await stores.journal.append(charge(account, PRICE, { call: record }))
      if (outcome.kind !== 'committed') throw new Error(outcome.kind)
      // At once: a buffer would die with the process.
      writeSync(1, `${record.id}\n`)
    }
  }
  const pruning = async () => {
    while (await stores.retention.prune('requests', CUTOFF, ROWS_A_STEP)) writeSync(1, 'step\n')
    throw new Error('nothing is left to remove')
  }
  await Promise.all([charging(), pruning()])
}

function randomHex(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(10))).toString('hex')
}

if (import.meta.main) {
  const [folder = '', account = ''] = process.argv.slice(2)
  await pruneAndCharge(folder, account as AccountId)
}
