import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finalizeStatements } from '../../../../server/adapters/stores/libsql/driver/file/finalize-statements'
import {
  type BuildProgress,
  buildIndex,
  indexFingerprint,
} from '../../../../server/adapters/websearch/local/build/build-index'
import { ensureIndex, storedFingerprint } from '../../../../server/adapters/websearch/local/build/ensure-index'
import { lastDatedHeading } from '../../../../server/adapters/websearch/local/build/package-documents'
import { openLocalWebsearch } from '../../../../server/adapters/websearch/local/open-local-websearch'
import { canListOpenFiles, openFilesBelow } from '../../../support/databases/open-files'
import { SOMEBODY } from '../../../support/somebody'
import { bodyOf, type ContextBody } from './bodies'
import { BASE_URL, contextInput, NOW, temporaryFolder, writeFiles, writeFixtureProject } from './fixture-index'

let folder: ReturnType<typeof temporaryFolder>
let sources = { nodeModules: '', projectRoot: '' }
let indexPath = ''

beforeEach(() => {
  folder = temporaryFolder()
  sources = writeFixtureProject(join(folder.path, 'project'))
  indexPath = join(folder.path, 'data', 'search.db')
})
afterEach(() => folder.remove())

const page = (word: string) => ({ url: `https://extra.example/${word}`, title: word, markdown: `All about ${word}.` })

describe('ensureIndex', () => {
  test('builds what is missing and reports progress, and leaves one file and no journal', async () => {
    const told: BuildProgress[] = []
    const counts = await ensureIndex({ indexPath, ...sources, onProgress: (progress) => told.push(progress) })
    expect(counts).toMatchObject({ images: 4 })
    expect(counts!.documents).toBeGreaterThan(5)
    expect(told.map((progress) => progress.done)).toEqual(told.map((_, at) => at + 1))
    expect(told.at(-1)).toEqual({ done: told.length, total: told.length, what: 'icons' })
    expect(told.map((progress) => progress.what)).toContain('lathe')
    expect(readdirSync(join(folder.path, 'data')).sort()).toEqual(['search.db', 'search.db.lock'])
  })

  test('does nothing if the sources did not change', async () => {
    await buildIndex({ indexPath, ...sources })
    const before = statSync(indexPath)
    expect(await ensureIndex({ indexPath, ...sources })).toBeNull()
    expect(statSync(indexPath).ino).toBe(before.ino)
  })

  test('rebuilds if a package, a page of the project or an added document changes', async () => {
    await buildIndex({ indexPath, ...sources })
    const fingerprints = [await indexFingerprint(sources)]
    writeFiles(sources.nodeModules, {
      'lathe-kit/package.json': JSON.stringify({ name: 'lathe-kit', version: '0.2.0' }),
    })
    fingerprints.push(await indexFingerprint(sources))
    writeFiles(sources.projectRoot, { 'docs/new.md': '# New\n\nwords\n' })
    fingerprints.push(await indexFingerprint(sources))
    const added = { ...sources, extraDocuments: [page('amber')] }
    fingerprints.push(await indexFingerprint(added))
    expect(new Set(fingerprints).size).toBe(4)
    expect(await ensureIndex({ indexPath, ...added })).not.toBeNull()
    expect(await storedFingerprint(indexPath)).toBe(fingerprints.at(-1)!)
  })

  test('replaces a file that is not an index', async () => {
    writeFiles(folder.path, { 'data/search.db': 'not a database' })
    expect(await ensureIndex({ indexPath, ...sources })).not.toBeNull()
    expect(await ensureIndex({ indexPath, ...sources })).toBeNull()
  })

  test('a failed build throws, and leaves the old file and nothing else', async () => {
    await buildIndex({ indexPath, ...sources })
    const before = statSync(indexPath).ino
    const broken = { ...page('amber'), url: 'ftp://files.example/' }
    await expect(ensureIndex({ indexPath, ...sources, extraDocuments: [broken] })).rejects.toThrow('absolute http')
    expect(readdirSync(join(folder.path, 'data')).sort()).toEqual(['search.db', 'search.db.lock'])
    expect(statSync(indexPath).ino).toBe(before)
  })

  test.skipIf(!canListOpenFiles)('leaves no file open, whether it builds or fails', async () => {
    const broken = { ...page('amber'), url: 'ftp://files.example/' }
    expect(await ensureIndex({ indexPath, ...sources, extraDocuments: [page('amber')] })).not.toBeNull()
    await expect(ensureIndex({ indexPath, ...sources, extraDocuments: [broken] })).rejects.toThrow('absolute http')
    // This thread read the fingerprint of the old one.
    await finalizeStatements()
    expect(openFilesBelow(join(folder.path, 'data'))).toEqual([])
  })
})

describe('a reader', () => {
  test('keeps answering from the old index while a new one replaces it, then answers from the new one', async () => {
    await buildIndex({ indexPath, ...sources, extraDocuments: [page('amber')] })
    const search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
    const found = async (q: string) =>
      (await bodyOf<ContextBody>(search.context, contextInput(q))).grounding.generic.length
    expect(await found('amber')).toBe(1)
    let isBuilding = true
    const built = ensureIndex({ indexPath, ...sources, extraDocuments: [page('jade')] }).finally(() => {
      isBuilding = false
    })
    while (isBuilding) expect((await found('amber')) + (await found('jade'))).toBeGreaterThanOrEqual(1)
    await built
    expect(await found('amber')).toBe(0)
    expect(await found('jade')).toBe(1)
    await search.close()
  })

  test('is not ready and answers unavailable until an index exists, without a restart', async () => {
    const search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
    const answer = await search.context.call(contextInput('lathe'), new AbortController().signal, SOMEBODY)
    expect(answer).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
    expect(await search.images.ready()).toBe(false)
    await buildIndex({ indexPath, ...sources })
    expect(await search.images.ready()).toBe(true)
    expect(await search.context.ready()).toBe(true)
    writeFileSync(indexPath, 'not a database')
    expect(await search.context.ready()).toBe(false)
    await search.close()
  })
})

describe('indexFingerprint', () => {
  test('is the same for the same sources', async () => {
    expect(await indexFingerprint(sources)).toBe(await indexFingerprint({ ...sources }))
  })
})

describe('lastDatedHeading', () => {
  test('is the newest date in the headings, in either spelling, and not one of the text', () => {
    expect(lastDatedHeading('# 2.0 (2025-02-03)\n\nfixed on 2026-01-01\n\n# 1.0 (2024-01-01)\n')).toBe('2025-02-03')
    expect(lastDatedHeading('### Version 4.0.0 (June 4, 2022) ###\n')).toBe('2022-06-04')
    expect(lastDatedHeading('Unreleased 2023-05-06\n---\n')).toBe('2023-05-06')
  })

  test('is null if no heading has a valid date', () => {
    expect(lastDatedHeading('# 1.0.0\n\n# 2024-13-45\n')).toBeNull()
  })
})
