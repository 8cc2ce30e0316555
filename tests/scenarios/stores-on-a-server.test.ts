import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { hasSqld } from '../support/databases/sqld'

const ROOT = join(import.meta.dir, '../..')
/** A choice of those of the stores. `TEST_DATABASE=sqld bun test tests/contracts tests/properties` runs all. */
const STORES = ['journal', 'accounts', 'credentials', 'payment-claims', 'statements']
/** Real servers that are killed. */
const CRASHES = ['crash', 'kill-under-way']

/** These suites, unchanged, on a database behind a network. */
describe.skipIf(!hasSqld)('on a libSQL server', () => {
  test('the contracts of the stores hold as on a file', async () => {
    await expectPass(STORES.map((name) => `tests/contracts/libsql-${name}.test.ts`))
  }, 180_000)

  test('a server that is killed loses no charge, and repeats no call that has its Idempotency-Key, as on a file', async () => {
    await expectPass(CRASHES.map((name) => `tests/scenarios/${name}.test.ts`))
  }, 300_000)

  async function expectPass(files: readonly string[]): Promise<void> {
    const child = Bun.spawn([process.execPath, 'test', '--timeout', '60000', ...files], {
      cwd: ROOT,
      env: { ...process.env, TEST_DATABASE: 'sqld' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, said] = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
    const code = await child.exited
    if (code !== 0) throw new Error(`the child ended with ${code}:\n${out}\n${said}`)
    expect(said).toMatch(/^ *[1-9]\d* pass$/m)
    expect(said).toMatch(/^ *0 fail$/m)
  }
})
