import { afterEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operatorCommand } from '../../server/cli/commands/operator'
import { listenControl } from '../../server/listen'

const HEAD = 'account,opening_usd\r\n'
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A gateway whose files are these pieces; an error ends one in the middle. */
async function serving(...pieces: readonly (string | Error)[]) {
  const folder = await mkdtemp(join(tmpdir(), 'broken-files-'))
  const before = process.env['DATA_DIR']
  process.env['DATA_DIR'] = folder
  const socket = listenControl(join(folder, 'control.sock'), async () => {
    const left = [...pieces]
    return new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          const piece = left.shift()
          if (piece === undefined) controller.close()
          else if (piece instanceof Error) controller.error(piece)
          else controller.enqueue(new TextEncoder().encode(piece))
        },
      }),
    )
  })
  closers.push(async () => {
    if (before === undefined) delete process.env['DATA_DIR']
    else process.env['DATA_DIR'] = before
    await socket.stop()
    await rm(folder, { recursive: true })
  })
  return folder
}

const run = (...words: string[]) =>
  operatorCommand(
    words,
    () => false,
    () => undefined,
  )

test('a file that ends without its last line, or whose connection breaks, is refused as incomplete', async () => {
  for (const command of [['books'], ['statement', '--csv']]) {
    await serving(HEAD, 'acct_total,1\r\n')
    await expect(run(...command, '2026-11')).rejects.toThrow('not complete: its last line is missing')
    await serving(HEAD, 'acct_1,1\r\n', new Error('the database is gone'))
    await expect(run(...command, '2026-11')).rejects.toThrow()
    await serving(HEAD, 'acct_1,1\r\n', 'tot', 'al,1\r\n')
    expect(await run(...command, '2026-11')).toBe('')
  }
})

test('a file that is written has its name once it is complete, and another one until then', async () => {
  const folder = await serving(HEAD, 'acct_1,1\r\n')
  const name = join(folder, 'books.csv')
  await expect(run('books', '2026-11', '--out', name)).rejects.toThrow('not complete')
  expect([existsSync(name), await readFile(`${name}.partial`, 'utf8')]).toEqual([false, `${HEAD}acct_1,1\r\n`])
  const whole = await serving(HEAD, 'total,1\r\n')
  expect(await run('books', '2026-11', '--out', join(whole, 'b.csv'))).toBe(`Wrote ${join(whole, 'b.csv')}\n`)
  expect(await readFile(join(whole, 'b.csv'), 'utf8')).toBe(`${HEAD}total,1\r\n`)
  expect(existsSync(join(whole, 'b.csv.partial'))).toBe(false)
})

test('a record that begins with spaces is waited for, and one that breaks off is refused', async () => {
  await serving(' ', ' ', '{"runs":[],"last":null,', '"unknown_pages":[]}')
  expect(JSON.parse(await run('reconcile', '--history', '--json'))).toEqual({ runs: [], last: null, unknown_pages: [] })
  await serving(' ', ' ', new Error('the database is gone'))
  await expect(run('reconcile')).rejects.toThrow('answer')
  await serving(' ', '{"runs":')
  await expect(run('reconcile')).rejects.toThrow('broke off its answer')
})
