import { executeOn } from './database-file'

/**
 * Makes the writes of a stopped server that `when` describes take for ever, so that a test can kill it in the middle of one. A
 * trigger of the database counts without an end; `undo` takes it away again, once the server is dead.
 */
export async function stuckWrite(databaseFile: string, table: string, when: string) {
  const run = (sql: string) => executeOn(databaseFile, sql)
  const forEver = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x > 0) SELECT count(*) FROM n'
  await run(`CREATE TRIGGER stuck BEFORE UPDATE ON ${table} WHEN ${when} BEGIN SELECT (${forEver}); END`)
  return { undo: () => run('DROP TRIGGER stuck') }
}
