import { AsyncLocalStorage } from 'node:async_hooks'
import type { Client, InStatement } from '@libsql/client'
import type { Harness } from '../harness'

/** Whose statements are counted. */
const counted = new AsyncLocalStorage<InStatement[]>()

/** How many rows these reads returned. */
const rows = new AsyncLocalStorage<{ count: number }>()

/**
 * What `act` gave, how many reads of the database it caused, and how many rows these returned: every `SELECT` of the gateway's own client, and
 * no other job of the machine.
 */
export async function countingReads<T>({ core }: Pick<Harness, 'core'>, act: () => Promise<T>) {
  const { $client: client } = core.stores.db as typeof core.stores.db & { readonly $client: Client }
  const { execute, batch } = client
  const counting = <R extends readonly { readonly rows: readonly unknown[] }[]>(results: R) => {
    const count = rows.getStore()
    for (const result of results) if (count) count.count += result.rows.length
    return results
  }
  client.execute = async (...args: Parameters<Client['execute']>) => {
    counted.getStore()?.push(args[0])
    const result = await execute.apply(client, args)
    counting([result])
    return result
  }
  client.batch = async (...args: Parameters<Client['batch']>) => {
    counted.getStore()?.push(...args[0].map((one) => (Array.isArray(one) ? one[0] : one)))
    return counting(await batch.apply(client, args))
  }
  try {
    const sent: InStatement[] = []
    const read = { count: 0 }
    const result = await rows.run(read, () => counted.run(sent, act))
    const reads = sent.filter((statement) => /^\s*(select|with)\b/i.test(sqlOf(statement))).length
    return { result, reads, rows: read.count, sent }
  } finally {
    Object.assign(client, { execute, batch })
  }
}

function sqlOf(statement: InStatement): string {
  return typeof statement === 'string' ? statement : statement.sql
}
