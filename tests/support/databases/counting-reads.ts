import { AsyncLocalStorage } from 'node:async_hooks'
import type { Client, InStatement } from '@libsql/client'
import type { Harness } from '../harness'

/** Whose statements are counted. */
const counted = new AsyncLocalStorage<InStatement[]>()

/** What `act` gave, and how many reads of the database it caused: every `SELECT` of the gateway's own client, and none of the jobs beside it. */
export async function countingReads<T>({ core }: Pick<Harness, 'core'>, act: () => Promise<T>) {
  const { $client: client } = core.stores.db as typeof core.stores.db & { readonly $client: Client }
  const { execute, batch } = client
  client.execute = (...args: Parameters<Client['execute']>) => {
    counted.getStore()?.push(args[0])
    return execute.apply(client, args)
  }
  client.batch = (...args: Parameters<Client['batch']>) => {
    counted.getStore()?.push(...args[0].map((one) => (Array.isArray(one) ? one[0] : one)))
    return batch.apply(client, args)
  }
  try {
    const sent: InStatement[] = []
    const result = await counted.run(sent, act)
    return { result, reads: sent.filter((statement) => /^\s*(select|with)\b/i.test(sqlOf(statement))).length }
  } finally {
    Object.assign(client, { execute, batch })
  }
}

function sqlOf(statement: InStatement): string {
  return typeof statement === 'string' ? statement : statement.sql
}
