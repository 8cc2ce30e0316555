import { createClient } from '@libsql/client'

export interface Reconciliation {
  readonly charges: number
  readonly chargedMicros: number
  /** The mismatches; empty when every sum agrees. */
  readonly problems: readonly string[]
}

/**
 * Reads a database (a file, or an http address) without a writer and compares everything that must agree: entries with balances, charges
 * with the request log, pools with their keys' charges, the rollup with the log, and no balance below zero.
 */
export async function reconcile(file: string): Promise<Reconciliation> {
  const client = createClient(
    file.startsWith('http') ? { url: file } : { url: `file:${file.replace(/^file:/, '')}`, concurrency: 1 },
  )
  const problems: string[] = []
  const all = async (sql: string) => (await client.execute(sql)).rows
  const check = async (what: string, sql: string) => {
    for (const row of await all(sql)) problems.push(`${what}: ${JSON.stringify(row)}`)
  }
  try {
    for (const part of ['credit', 'paid'])
      await check(
        `the ${part} of an account is not the sum of its entries`,
        `SELECT a.id, a.${part} AS counter, coalesce(sum(iif(e.credit = a.id || '/${part}', e.amount, 0) - iif(e.debit = a.id || '/${part}', e.amount, 0)), 0) AS entries
         FROM accounts a LEFT JOIN entries e ON e.account_id = a.id GROUP BY a.id HAVING counter <> entries`,
      )
    await check(
      'the debt of an account is not the sum of its entries',
      `SELECT a.id, a.debt AS counter, coalesce(sum(iif(e.debit = a.id || '/debt', e.amount, 0) - iif(e.credit = a.id || '/debt', e.amount, 0)), 0) AS entries
       FROM accounts a LEFT JOIN entries e ON e.account_id = a.id GROUP BY a.id HAVING counter <> entries`,
    )
    await check('a balance is below zero', 'SELECT id, credit, paid FROM accounts WHERE credit < 0 OR paid < 0')
    await check(
      'a charged call has not exactly its charge in the ledger',
      `SELECT r.id, r.cost, coalesce(c.amount, 0) AS entries FROM requests r
       LEFT JOIN (SELECT request_id, sum(iif(kind = 'charge', amount, -amount)) AS amount FROM entries
         WHERE request_id IS NOT NULL AND kind NOT IN ('overrun', 'charge_refund') GROUP BY request_id) c ON c.request_id = r.id
       WHERE r.cost <> coalesce(c.amount, 0)`,
    )
    await check(
      'a call was given back more than it was charged',
      `SELECT request_id, sum(iif(kind = 'charge', amount, -amount)) AS left FROM entries
       WHERE request_id IS NOT NULL AND kind <> 'overrun' GROUP BY request_id HAVING left < 0`,
    )
    await check(
      'an entry belongs to no call',
      'SELECT e.seq FROM entries e WHERE e.request_id IS NOT NULL AND e.request_id NOT IN (SELECT id FROM requests)',
    )
    await check(
      'a paid call has not exactly its entry in the ledger',
      `SELECT p.id, p.amount, e.amount AS entry FROM payments p LEFT JOIN entries e ON e.reference = 'payment:' || p.id
       WHERE p.purpose = 'call' AND iif(p.paid, p.amount, 0) <> coalesce(e.amount, 0)`,
    )
    await check(
      'an entry belongs to no payment',
      `SELECT seq FROM entries WHERE kind = 'payment' AND reference NOT IN (SELECT 'payment:' || id FROM payments)`,
    )
    await check(
      'a pool did not spend what its keys and apps were charged',
      `SELECT p.id, p.spent, coalesce(c.charged, 0) AS charged FROM pools p
       LEFT JOIN (SELECT k.pool_id, sum(r.cost) AS charged FROM requests r
         JOIN (SELECT id, pool_id FROM keys UNION ALL SELECT id, pool_id FROM connections
           UNION ALL SELECT k.id, c.parent_id FROM keys k JOIN pools c ON c.id = k.pool_id) k ON k.id = r.key_id
         GROUP BY k.pool_id) c ON c.pool_id = p.id
       WHERE p.spent <> coalesce(c.charged, 0) AND p.kind IN ('key', 'app')`,
    )
    await check(
      'the rollup is not the sum of the log',
      `SELECT l.account_id, l.charged, u.charged AS rolled FROM
        (SELECT account_id, sum(cost) AS charged FROM requests GROUP BY account_id) l
        LEFT JOIN (SELECT account_id, sum(charged) AS charged FROM usage_rollup GROUP BY account_id) u USING (account_id)
        WHERE l.charged <> coalesce(u.charged, 0)`,
    )
    await check(
      'the rollup has calls of a priced operation that the log does not count',
      `SELECT u.account_id, u.n AS rolled, l.n AS logged FROM
        (SELECT account_id, sum(requests) AS n FROM usage_rollup GROUP BY account_id) u
        JOIN (SELECT account_id, sum(1 + repeats) AS n FROM requests GROUP BY account_id) l USING (account_id)
        WHERE u.n > l.n AND NOT EXISTS (SELECT 1 FROM pruned WHERE name = 'requests')`,
    )
    const rolled = [
      'requests',
      'input_tokens',
      'output_tokens',
      'cache_read_tokens',
      'cache_write_tokens',
      'charged',
      'upstream_cost',
      'upstream_cost_calls',
    ]
    const sumsBy = (day: string, table: string) =>
      `SELECT account_id, ${day} AS day, key_id, operation, status, model, ${rolled.map((sum) => `sum(${sum})`)}
       FROM ${table} GROUP BY 1, 2, 3, 4, 5, 6`
    for (const [one, other] of [
      [sumsBy('slot / 96', 'usage_rollup'), sumsBy('day', 'usage_days')],
      [sumsBy('day', 'usage_days'), sumsBy('slot / 96', 'usage_rollup')],
    ])
      await check('the days of the rollup are not the sums of its slots', `${one} EXCEPT ${other}`)
    const [sums] = await all('SELECT count(*) AS n, coalesce(sum(cost), 0) AS charged FROM requests WHERE cost > 0')
    return { charges: Number(sums?.['n']), chargedMicros: Number(sums?.['charged']), problems }
  } finally {
    client.close()
  }
}
