import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { openGuardedFetch } from '../../../../../server/adapters/outbound/guarded-fetch'
import { buildIndex } from '../../../../../server/adapters/websearch/local/build/build-index'
import { FileReader } from '../../../../../server/adapters/websearch/local/own/file-reader'
import { OwnIndex } from '../../../../../server/adapters/websearch/local/own/own-index'
import { folderFiles } from '../../../../../server/adapters/websearch/local/own/source-files'
import { temporaryFolder, writeFiles, writeFixtureProject } from '../fixture-index'

const settings = { site: 'Site', baseUrl: 'https://docs.example/' }
let folder: ReturnType<typeof temporaryFolder>
let docs: string
beforeEach(() => {
  folder = temporaryFolder()
  docs = join(folder.path, 'docs')
  writeFiles(docs, { 'good.md': '# Honey\n\nFermented honey is mead.', 'sub/page.md': '# Wax' })
  writeFiles(folder.path, { 'outside/page.md': '# The private diary' })
})
afterEach(() => folder.remove())

/** A PDF whose one page is `megabytes` of drawing once it is unpacked. */
function pdfBomb(megabytes: number): Buffer {
  const drawing = Buffer.alloc(megabytes * 1024 * 1024, '(x) Tj 0 -1 Td ')
  const packed = deflateSync(Buffer.concat([Buffer.from('BT /F1 12 Tf 72 720 Td '), drawing]), { level: 1 })
  return Buffer.concat([
    Buffer.from(`%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
4 0 obj<</Length ${packed.length}/Filter/FlateDecode>>stream\n`),
    packed,
    Buffer.from('\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF'),
  ])
}

describe('a folder with hostile files', () => {
  test('is indexed anyway, and skipped files are reported with their reason', async () => {
    const indexPath = join(folder.path, 'data', 'search.db')
    await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')) })
    execFileSync('mkfifo', [join(docs, 'pipe.txt')])
    symlinkSync('/dev/zero', join(docs, 'zero.md'))
    symlinkSync(join(folder.path, 'outside'), join(docs, 'linked'))
    writeFileSync(join(docs, 'bomb.pdf'), pdfBomb(96))
    const fetch = openGuardedFetch({ userAgent: 'test' })
    const reader = new FileReader({ maxMemoryBytes: 400 * 1024 * 1024 })
    const own = new OwnIndex({ indexPath, fetch, reader })
    const report = await own.add({ location: docs })
    expect(report).toMatchObject({ added: 2, unchanged: 0 })
    expect(Object.fromEntries(report.unreadable.map(({ origin, reason }) => [origin, reason]))).toEqual({
      'pipe.txt': 'not a regular file',
      'zero.md': 'a symbolic link, which is not followed',
      linked: 'a symbolic link, which is not followed',
      'bomb.pdf': expect.stringMatching(/^it took (more than 400 MiB of memory|longer than 20 s) to read$/),
    })
    // An unreadable file is tried again each time: seconds, for the bomb.
    rmSync(join(docs, 'bomb.pdf'))
    expect(await own.add({ location: docs })).toMatchObject({ added: 0, unchanged: 2 })
    reader.close()
  })

  test('is indexed when a folder in it cannot be listed, and what was indexed from that folder stays', async () => {
    const indexPath = join(folder.path, 'data', 'search.db')
    await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')) })
    const own = new OwnIndex({ indexPath, fetch: openGuardedFetch({ userAgent: 'test' }) })
    expect(await own.add({ location: docs })).toMatchObject({ added: 2, unreadable: [] })
    // Folders in one another until no path of the system is long enough: each half is, both together are not.
    const half = Array.from({ length: 12 }, () => 'd'.repeat(200)).join('/')
    const [above, below] = [join(docs, 'sub', half), join(folder.path, half)]
    mkdirSync(above, { recursive: true })
    mkdirSync(below, { recursive: true })
    renameSync(join(folder.path, 'd'.repeat(200)), join(above, 'deep'))
    const report = await own.add({ location: docs })
    expect(report).toMatchObject({ added: 0, removed: 0, unchanged: 2 })
    expect(report.unreadable.map(({ reason }) => reason)).toEqual(['cannot be opened (ENAMETOOLONG)'])
    renameSync(join(above, 'deep'), join(folder.path, 'd'.repeat(200)))
  })

  test('gives nothing from outside if a file or folder becomes a link between listing and reading', async () => {
    const files = await folderFiles(docs, settings)
    renameSync(join(docs, 'good.md'), join(docs, 'was.md'))
    symlinkSync(join(folder.path, 'outside', 'page.md'), join(docs, 'good.md'))
    renameSync(join(docs, 'sub'), join(docs, 'was'))
    symlinkSync(join(folder.path, 'outside'), join(docs, 'sub'))
    const read = files.map((file) =>
      file.fetch().then(String, (problem: Error) => `${file.origin}: ${problem.message}`),
    )
    expect((await Promise.all(read)).sort()).toEqual([
      'good.md: a symbolic link, which is not followed',
      'sub/page.md: it is outside the folder',
    ])
  })

  test('gives nothing from outside while a folder alternates between a link and a folder', async () => {
    const sub = join(docs, 'sub')
    const flips = `const { renameSync, symlinkSync, unlinkSync } = require('node:fs')
      const [, outside, sub] = process.argv.slice(-3)
      process.stdout.write('begun')
      for (;;) { renameSync(sub, sub + '-was'); symlinkSync(outside, sub); unlinkSync(sub); renameSync(sub + '-was', sub) }`
    const files = await folderFiles(docs, settings)
    const page = files.find(({ origin }) => origin === 'sub/page.md')
    const flipping = Bun.spawn([process.execPath, '-e', flips, '--', join(folder.path, 'outside'), sub])
    await flipping.stdout.getReader().read()
    const seen = new Set<string>()
    for (let i = 0; i < 3000; i++) {
      const read = await page?.fetch().catch(() => null)
      if (read) seen.add(new TextDecoder().decode(read.bytes))
    }
    flipping.kill('SIGKILL')
    await flipping.exited
    seen.delete('# Wax')
    expect([...seen]).toEqual([])
  })

  test('may be named by a link, because the operator gave that one', async () => {
    symlinkSync(docs, join(folder.path, 'named'))
    const files = await folderFiles(join(folder.path, 'named'), settings)
    expect(await Promise.all(files.map(async (file) => (await file.fetch())?.origin))).toEqual([
      'good.md',
      'sub/page.md',
    ])
  })
})

describe('the file reader process', () => {
  const file = (origin: string) => ({
    origin,
    url: `https://x.example/${origin}`,
    contentType: '',
    bytes: new Uint8Array(),
  })
  const double = join(import.meta.dirname, 'greedy-process.ts')

  test.each([
    ['grows', /^it took more than 512 MiB of memory to read$/, {}],
    ['hangs', /^it took longer than 0.5 s to read$/, { timeoutMs: 500 }],
    ['crashes', /^it crashed the file reader$/, {}],
  ])('is ended when a file %s, and a new one reads the next file', async (origin, reason, limits) => {
    const reader = new FileReader({ maxMemoryBytes: 512 * 1024 * 1024, ...limits }, double)
    try {
      expect(String(await reader.read(file(origin), settings).catch((problem: Error) => problem.message))).toMatch(
        reason,
      )
      const [first, second] = [await reader.read(file('a'), settings), await reader.read(file('b'), settings)]
      expect(Reflect.get(first, 'pid')).toBeNumber()
      expect(Reflect.get(second, 'pid')).toBe(Reflect.get(first, 'pid'))
    } finally {
      reader.close()
    }
  })

  test('returns words, language and pictures of a valid file', async () => {
    mkdirSync(join(docs, 'img'))
    const reader = new FileReader()
    try {
      const bytes = new TextEncoder().encode('# Hives\n\nThe queen excluder.\n\n![A smoker](img/smoker.png)\n')
      const content = await reader.read({ ...file('guide.md'), bytes }, settings)
      expect(content.document?.title).toBe('Hives')
      expect(content.images).toMatchObject([{ imageUrl: 'https://x.example/img/smoker.png', title: 'A smoker' }])
    } finally {
      reader.close()
    }
  })
})
