import { spyOn } from 'bun:test'
import type { Client, InStatement } from '@libsql/client'
import type { Harness } from './harness'

/** What `act` gave, and how many reads of the database it caused: every `SELECT` of the gateway's own client. */
export async function countingReads<T>({ core }: Pick<Harness, 'core'>, act: () => Promise<T>) {
  const { $client: client } = core.stores.db as typeof core.stores.db & { readonly $client: Client }
  const [single, batches] = [spyOn(client, 'execute'), spyOn(client, 'batch')]
  try {
    const result = await act()
    const sent = [...single.mock.calls.map(([statement]) => statement), ...batches.mock.calls.flatMap(([all]) => all)]
    return { result, reads: sent.filter((statement) => /^\s*(select|with)\b/i.test(sqlOf(statement))).length }
  } finally {
    single.mockRestore()
    batches.mockRestore()
  }
}

function sqlOf(statement: InStatement | [sql: string, args?: unknown]): string {
  if (typeof statement === 'string') return statement
  return Array.isArray(statement) ? statement[0] : statement.sql
}
