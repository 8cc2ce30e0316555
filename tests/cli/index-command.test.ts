import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { indexCommand as runIndex } from '../../server/cli/local/index-command'
import { indexSources } from '../../server/compose/search/index-sources'
import { temporaryFolder, writeFiles } from '../adapters/websearch/local/fixture-index'
import { writeSmallIndex } from '../support/servers/small-index'

const folder = temporaryFolder()
const docs = join(folder.path, 'handbook')
const before = process.env['DATA_DIR']

beforeAll(async () => {
  process.env['DATA_DIR'] = join(folder.path, 'data')
  // A small index under the name of the real one: this test is of the command, not of the corpus.
  const { indexPath, ...real } = indexSources(process.env['DATA_DIR'])
  await writeSmallIndex(indexPath, real)
  writeFiles(docs, { 'a.md': '# Refunds\n\nPaid in 14 days.', 'b.txt': 'Open from nine to five.' })
})
afterAll(() => {
  if (before === undefined) delete process.env['DATA_DIR']
  else process.env['DATA_DIR'] = before
  folder.remove()
})

const SILENT = { out: () => undefined, err: () => undefined }
const indexCommand = (args: readonly string[]) => runIndex(args, SILENT)

const refused = (args: readonly string[]) =>
  indexCommand(args).then(
    () => null,
    (problem: Error) => `${problem.constructor.name}: ${problem.message}`,
  )

/** Whole lines of a stream, one at a time. */
function linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  return {
    async next(): Promise<string> {
      for (;;) {
        const at = rest.indexOf('\n')
        if (at >= 0) {
          const line = rest.slice(0, at)
          rest = rest.slice(at + 1)
          return line
        }
        const { done, value } = await reader.read()
        if (done) throw new Error(`the stream ended after "${rest}"`)
        rest += value
      }
    },
  }
}

describe('bun run gateway index', () => {
  test('add reports what happened to the files, list and status what there is', async () => {
    expect(await indexCommand(['add', docs, '--site', 'Acme', '--url', 'https://acme.example'])).toBe(
      `${docs}: 2 added, 0 changed, 0 removed, 0 unchanged\n`,
    )
    expect(await indexCommand(['list'])).toMatch(/1 {2}\S+handbook {2}Acme {2}https:\/\/acme\.example\/ +2 +2 +0/)
    expect(await indexCommand(['status'])).toMatch(/^PAGES +PASSAGES +IMAGES +BUILT-IN +BUILT\n\d+ +\d+ +\d+ +yes +/)
    rmSync(join(docs, 'b.txt'))
    expect(JSON.parse(await indexCommand(['add', docs, '--json']))).toMatchObject([{ removed: 1, unchanged: 1 }])
    expect(await indexCommand(['remove', docs])).toBe(`${docs}: removed\n`)
    expect(await indexCommand(['list'])).toStartWith('Nothing was added yet')
  })

  test('the name built-in means the sources of every install', async () => {
    await indexCommand(['add', docs])
    expect(await indexCommand(['remove', docs, 'built-in'])).toBe(`built-in: removed\n${docs}: removed\n`)
    expect(JSON.parse(await indexCommand(['status', '--json']))).toMatchObject({ built_in: 'no', documents: '0' })
    expect(await indexCommand(['remove', 'built-in'])).toBe('built-in: removed\n')
    expect(await indexCommand(['add', docs])).toStartWith(`${docs}: 1 added`)
    expect(JSON.parse(await indexCommand(['status', '--json']))).toMatchObject({ built_in: 'no', documents: '1' })
  })

  test('--watch keeps running, and indexes what is written, changed and removed', async () => {
    const watched = join(folder.path, 'watched')
    writeFiles(watched, { 'a.md': '# Oak\n\nA tree.' })
    const command = ['bun', join(import.meta.dir, '../../server/cli/main.ts'), 'index', 'add', watched, '--watch']
    // Named, because a child does not get what this process changed in its own environment.
    const env = { ...process.env, DATA_DIR: join(folder.path, 'data') }
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit', env })
    const lines = linesOf(child.stdout)
    /** The changes; the system may report one twice. */
    const change = async (): Promise<string> => {
      const line = await lines.next()
      return line.includes(' 0 added, 0 changed, 0 removed, ') ? change() : line
    }
    try {
      expect(await lines.next()).toBe(`${watched}: 1 added, 0 changed, 0 removed, 0 unchanged`)
      expect(await lines.next()).toBe('Following changes. Press Ctrl-C to stop.')
      writeFiles(watched, { 'deep/b.md': '# Elm\n\nAnother tree.' })
      expect(await change()).toBe(`${watched}: 1 added, 0 changed, 0 removed, 1 unchanged`)
      writeFiles(watched, { 'deep/b.md': '# Elm\n\nA tree in a folder.' })
      expect(await change()).toBe(`${watched}: 0 added, 1 changed, 0 removed, 1 unchanged`)
      rmSync(join(watched, 'a.md'))
      expect(await change()).toBe(`${watched}: 0 added, 0 changed, 1 removed, 1 unchanged`)
    } finally {
      child.kill()
      await child.exited
    }
  })

  test('a failure is reported in one line', async () => {
    expect(await refused(['remove', '/never/added'])).toBe(
      'CommandRefused: /never/added is not in the index; see "index list"',
    )
    expect(await refused(['add', '/nowhere'])).toBe('CommandRefused: there is nothing at /nowhere')
    expect(await refused(['add', 'http://127.0.0.1:9/'])).toMatch(/^CommandRefused: .*(forbidden|bad)/)
  })

  test('wrong usage is reported before anything is read', async () => {
    expect(await refused(['sell', 'x'])).toStartWith('UsageError: unknown index command "sell"')
    expect(await refused(['add'])).toStartWith('UsageError: "index add" takes at least one argument')
    expect(await refused(['list', 'x'])).toStartWith('UsageError: "index list" takes no arguments')
    expect(await refused(['add', 'x', '--url', 'ftp://x'])).toStartWith('UsageError: --url must be')
    expect(await refused(['add', 'x', '--nonsense'])).toStartWith('UsageError: ')
    expect(await indexCommand(['--help'])).toStartWith('Usage: bun run gateway index COMMAND')
  })
})
