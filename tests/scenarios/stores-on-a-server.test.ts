import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { hasSqld } from '../support/sqld'

const ROOT = join(import.meta.dir, '../..')
/** A choice of them. `TEST_DATABASE=sqld bun test tests/contracts tests/properties` runs all. */
const SUITES = ['journal', 'accounts', 'credentials', 'usage-reports', 'payment-claims', 'statements']

/** Issue 23: the suites of the stores, unchanged, on a database behind a network. */
describe.skipIf(!hasSqld)('on a libSQL server', () => {
  test('the contracts of the stores hold as on a file', async () => {
    const files = SUITES.map((name) => `tests/contracts/libsql-${name}.test.ts`)
    const child = Bun.spawn([process.execPath, 'test', '--timeout', '60000', ...files], {
      cwd: ROOT,
      env: { ...process.env, TEST_DATABASE: 'sqld' },
      stdout: 'ignore',
      stderr: 'pipe',
    })
    const said = await new Response(child.stderr).text()
    expect(said).toMatch(/^ *[1-9]\d* pass$/m)
    expect(said).toMatch(/^ *0 fail$/m)
    expect(await child.exited).toBe(0)
  }, 180_000)
})
