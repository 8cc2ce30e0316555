import { constants, Database } from 'bun:sqlite'
import { pathToFileURL } from 'node:url'
import type { LogEnd } from '../../../../core/ledger/log-copy'

/**
 * With which group the tables of a file end that Litestream writes. Bun's driver, since it can read without a lock or a file beside it, of which
 * Litestream would not know, and closes the file at once. Throws, or is wrong, when it is read in the midst of a change.
 */
export function followedEnd(file: string): LogEnd {
  const url = `${pathToFileURL(file).href}?immutable=1`
  const database = new Database(url, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
  try {
    const row = database.query('SELECT applied_group AS number, applied_chain AS chain FROM owner WHERE id = 1').get()
    const { number, chain } = Object(row)
    return { number: Number(number), chain: String(chain) }
  } finally {
    database.close(true)
  }
}
