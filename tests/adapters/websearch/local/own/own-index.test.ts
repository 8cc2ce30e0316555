import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openGuardedFetch } from '../../../../../server/adapters/outbound/guarded-fetch'
import { buildIndex } from '../../../../../server/adapters/websearch/local/build/build-index'
import { ensureIndex } from '../../../../../server/adapters/websearch/local/build/ensure-index'
import {
  type LocalWebsearch,
  openLocalWebsearch,
} from '../../../../../server/adapters/websearch/local/open-local-websearch'
import { FileReader } from '../../../../../server/adapters/websearch/local/own/file-reader'
import { OwnIndex } from '../../../../../server/adapters/websearch/local/own/own-index'
import { bodyOf, type ContextBody, type ImageBody } from '../bodies'
import {
  BASE_URL,
  contextInput,
  imageInput,
  NOW,
  temporaryFolder,
  writeFiles,
  writeFixtureProject,
} from '../fixture-index'
import { onePagePdf, PNG_2_BY_3 } from './own-files'

const fetch = openGuardedFetch({ userAgent: 'test', permits: () => true })
/** One process for all tests: its start takes longer than a test. */
const reader = new FileReader()
let folder: ReturnType<typeof temporaryFolder>
let sources: { nodeModules: string; projectRoot: string }
let indexPath: string
let docs: string
let own: OwnIndex
let search: LocalWebsearch

beforeEach(async () => {
  folder = temporaryFolder()
  sources = writeFixtureProject(join(folder.path, 'project'))
  indexPath = join(folder.path, 'data', 'search.db')
  docs = join(folder.path, 'docs')
  await buildIndex({ indexPath, ...sources })
  own = new OwnIndex({ indexPath, fetch, reader })
  search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
  writeFiles(docs, {
    'guide.md': `---
title: Bee keeping
url: https://bees.example/keeping
site_name: Apiary
published: 2026-03-01
lang: en
country: DE
geo: { lat: 52.5, lon: 13.4, city: Berlin, name: The apiary }
---
# Hives

The queen excluder sits above the brood box.

![A smoker](img/smoker.png "Cold smoke")
`,
    'plain.txt': 'Mead is fermented honey and water.',
    'deep/page.html':
      '<html lang="de"><head><title>Waben</title></head><body><article><p>Die Waben hängen im Rahmen, und die Bienen bauen sie aus Wachs.</p></article></body></html>',
    'secret.bin': 'not read',
    '.hidden/x.md': 'hidden propolis',
  })
})
afterEach(async () => {
  await search.close()
  folder.remove()
})

afterAll(() => reader.close())

const ask = (q: string, more = {}) => bodyOf<ContextBody>(search.context, contextInput(q, more))
const see = (q: string) => bodyOf<ImageBody>(search.images, imageInput(q))
const urls = (body: ContextBody) => body.grounding.generic.map(({ url }) => url)

describe('adding a folder', () => {
  test('makes its files searchable at once, with the values of their front matter', async () => {
    const report = await own.add({ location: docs, site: 'Bees', baseUrl: 'https://docs.example/' })
    expect(report).toMatchObject({ added: 3, changed: 0, removed: 0, unchanged: 0, unreadable: [] })
    const body = await ask('queen excluder', { enable_source_metadata: true })
    expect(body.grounding.generic[0]).toMatchObject({ url: 'https://bees.example/keeping', title: 'Bee keeping' })
    expect(body.sources['https://bees.example/keeping']).toMatchObject({
      site_name: 'Apiary',
      age: ['Sunday, March 1, 2026', '2026-03-01', '19 days ago', '2026-03-01T00:00:00.000Z'],
    })
    expect(urls(await ask('fermented honey'))).toEqual(['https://docs.example/plain.txt'])
    expect(urls(await ask('Waben', { search_lang: 'de' }))).toEqual(['https://docs.example/deep/page.html'])
    expect(urls(await ask('propolis'))).toEqual([])
    expect((await ask('queen', { 'x-loc-city': 'berlin' })).grounding.poi?.name).toBe('The apiary')
  })

  test('without an address for it, puts its pages under .invalid', async () => {
    await own.add({ location: docs, site: 'My Bees' })
    expect(urls(await ask('fermented honey'))).toEqual(['https://my-bees.invalid/plain.txt'])
  })

  test('again, reads what changed, by content, and removes what was deleted', async () => {
    await own.add({ location: docs })
    utimesSync(join(docs, 'plain.txt'), new Date(), new Date())
    expect(await own.add({ location: docs })).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: 3 })
    writeFiles(docs, { 'plain.txt': 'Mead is now a liqueur.', 'new.md': '# Varroa\n\nA mite.' })
    rmSync(join(docs, 'deep'), { recursive: true })
    expect(await own.add({ location: docs })).toMatchObject({ added: 1, changed: 1, removed: 1, unchanged: 1 })
    expect(urls(await ask('liqueur'))).toHaveLength(1)
    expect(urls(await ask('fermented', { spellcheck: false }))).toEqual([])
    expect(urls(await ask('Waben', { spellcheck: false }))).toEqual([])
    expect(urls(await ask('varroa mite'))).toHaveLength(1)
  })

  test('if nothing changed, leaves the file alone', async () => {
    await own.add({ location: docs })
    const before = statSync(indexPath).ino
    await own.add({ location: docs })
    expect(statSync(indexPath).ino).toBe(before)
  })

  test('takes precedence: a page of the operator replaces a built-in one of the same address', async () => {
    writeFiles(docs, {
      'own.md': '---\nurl: https://lathe.example/#readme\n---\nMy own words about spindles and zinc.',
    })
    await own.add({ location: docs })
    expect(urls(await ask('zinc'))).toEqual(['https://lathe.example/#readme'])
    expect(urls(await ask('walnut'))).toEqual([])
  })

  test('reports an unreadable file, and reads the others', async () => {
    writeFiles(docs, { 'broken.pdf': 'no PDF', 'empty.md': '---\ntitle: x\n---\n' })
    const report = await own.add({ location: docs })
    expect(report.added).toBe(3)
    expect(report.unreadable.map(({ origin }) => origin).sort()).toEqual(['broken.pdf', 'empty.md'])
  })

  test('adds its words to the spell checker, and removes them with the folder', async () => {
    writeFiles(
      docs,
      Object.fromEntries([1, 2, 3].map((at) => [`q${at}.md`, `# Q${at}\n\nThe quincunx of number ${at}.`])),
    )
    await own.add({ location: docs })
    expect((await ask('quincumx')).query).toMatchObject({ altered: 'quincunx' })
    await own.remove(docs)
    expect((await ask('quincumx')).query).toEqual({ original: 'quincumx' })
  })

  test("an operator's word is correct, however close it is to a common word", async () => {
    writeFiles(docs, {
      'one.md': '# Prices\n\nOne lathes costs little.',
      'two.md': '# Lathez\n\nThe lathez of our own.',
    })
    await own.add({ location: docs })
    expect((await ask('lathez')).query).toEqual({ original: 'lathez' })
  })

  test('a place that does not exist is refused without any change', async () => {
    const before = statSync(indexPath).ino
    const refused = await own.add({ location: join(folder.path, 'nowhere') }).then(
      () => null,
      (problem: Error) => problem.message,
    )
    expect(refused).toContain('there is nothing at')
    expect(statSync(indexPath).ino).toBe(before)
  })
})

describe('pictures', () => {
  test('a picture that a page shows is found by its words, once, with the size of its file', async () => {
    writeFiles(docs, { 'img/.keep': '' })
    writeFileSync(join(docs, 'img', 'smoker.png'), PNG_2_BY_3)
    await own.add({ location: docs, baseUrl: 'https://docs.example/' })
    const { results } = await see('cold smoke')
    expect(results.map(({ title }) => title)).toEqual(['A smoker'])
    expect(results[0]).toMatchObject({
      url: 'https://bees.example/keeping',
      properties: { url: 'https://docs.example/img/smoker.png', width: 2, height: 3 },
    })
  })

  test('a picture that no page shows is found by its name', async () => {
    writeFileSync(join(docs, 'wax-moth_larva.png'), PNG_2_BY_3)
    await own.add({ location: docs })
    expect((await see('wax moth larva')).results[0]).toMatchObject({ title: 'wax moth larva', confidence: 'high' })
  })
})

describe('PDF', () => {
  test('its text is found, under its title', async () => {
    writeFileSync(join(docs, 'paper.pdf'), onePagePdf('Propolis research', 'Propolis seals the hive against drafts'))
    await own.add({ location: docs })
    const body = await ask('propolis drafts')
    expect(body.grounding.generic[0]).toMatchObject({ title: 'Propolis research' })
    expect(body.grounding.generic[0]!.snippets[0]).toContain('Propolis seals the hive')
  })
})

describe('an address', () => {
  const pages = new Map<string, { body: string | Uint8Array<ArrayBuffer>; type: string }>()
  const serve = () =>
    Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const page = pages.get(new URL(request.url).pathname)
        return page
          ? new Response(page.body, { headers: { 'content-type': page.type } })
          : new Response('', { status: 404 })
      },
    })

  test('of a sitemap, compressed or not, reads every page of it and of the sitemaps it names, and removes pages that left it', async () => {
    pages.clear()
    const server = serve()
    const at = (path: string) => `http://127.0.0.1:${server.port}${path}`
    const html = (words: string) => ({
      body: `<html lang="en"><title>${words}</title><article><p>${words} `.concat('and more. '.repeat(30)),
      type: 'text/html',
    })
    const locations = (tag: string, ...paths: string[]) =>
      `<?xml version="1.0"?><${tag} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths.map((path) => `<x><loc>${at(path)}</loc></x>`).join('')}</${tag}>`
    pages.set('/sitemap.xml', { body: locations('sitemapindex', '/a.xml', '/b.xml.gz'), type: 'application/xml' })
    pages.set('/a.xml', { body: locations('urlset', '/one', '/two', '/gone'), type: 'text/xml' })
    pages.set('/b.xml.gz', { body: new Uint8Array(gzipSync(locations('urlset', '/three'))), type: 'application/gzip' })
    pages.set('/one', html('Propolis one'))
    pages.set('/two', html('Propolis two'))
    pages.set('/three', html('Propolis three'))
    try {
      const request = { location: at('/sitemap.xml'), site: 'Bees' }
      expect(await own.add(request)).toMatchObject({ added: 3, unreadable: [] })
      expect(urls(await ask('propolis')).sort()).toEqual([at('/one'), at('/three'), at('/two')])
      pages.set('/two', html('Propolis changed'))
      pages.delete('/one')
      expect(await own.add(request)).toMatchObject({ changed: 1, removed: 1, unchanged: 2 })
      expect(urls(await ask('propolis')).sort()).toEqual([at('/three'), at('/two')])
    } finally {
      await server.stop(true)
    }
  })

  test('of a sitemap that is broken in its middle reads the pages named before that', async () => {
    pages.clear()
    const server = serve()
    const at = (path: string) => `http://127.0.0.1:${server.port}${path}`
    const body = `<urlset><url><loc><![CDATA[${at('/one')}]]></loc></url>${'<x>'.repeat(1_000_000)}<loc>${at('/two')}</loc>`
    pages.set('/sitemap.xml', { body, type: 'application/xml' })
    pages.set('/one', { body: 'Propolis one', type: 'text/plain' })
    pages.set('/two', { body: 'Propolis two', type: 'text/plain' })
    try {
      expect(await own.add({ location: at('/sitemap.xml') })).toMatchObject({ added: 1, unreadable: [] })
      expect(urls(await ask('propolis'))).toEqual([at('/one')])
    } finally {
      await server.stop(true)
    }
  })

  test('that is not public is refused, unless the operator allows it', async () => {
    const server = serve()
    const guarded = new OwnIndex({ indexPath, fetch: openGuardedFetch({ userAgent: 'test' }) })
    const said = await guarded.add({ location: `http://127.0.0.1:${server.port}/one` }).then(
      () => 'read',
      (problem: Error) => problem.message,
    )
    await server.stop(true)
    expect(said).toContain('forbidden address')
  })
})

describe('list, remove and status', () => {
  test('show and undo what was added', async () => {
    const before = await own.totals()
    // With a process of its own, as in the command.
    await new OwnIndex({ indexPath, fetch }).add({ location: docs, site: 'Bees', baseUrl: 'https://docs.example' })
    expect(await own.list()).toMatchObject([
      {
        id: 1,
        location: docs,
        settings: { site: 'Bees', baseUrl: 'https://docs.example/' },
        files: 3,
        documents: 3,
        images: 1,
      },
    ])
    expect(Number((await own.totals())!['documents'])).toBe(Number(before!['documents']) + 3)
    expect(await own.remove('1')).toBe(true)
    expect(await own.remove('1')).toBe(false)
    expect(await own.list()).toEqual([])
    const after = await own.totals()
    expect([after!['documents'], after!['passages'], after!['images']]).toEqual([
      before!['documents'],
      before!['passages'],
      before!['images'],
    ])
  })
})

describe('the sources of every install', () => {
  test('can be removed: only what was added is searchable, also after a rebuild, until they are restored', async () => {
    await own.add({ location: docs, baseUrl: 'https://docs.example/' })
    const [builtIn] = urls(await ask('walnut'))
    expect(builtIn).toBeString()
    await ensureIndex({ indexPath, ...sources, builtIn: false })
    expect(urls(await ask('walnut', { spellcheck: false }))).toEqual([])
    expect(urls(await ask('fermented honey'))).toEqual(['https://docs.example/plain.txt'])
    expect(await own.totals()).toMatchObject({ built_in: 'no', documents: '3', images: '1' })

    writeFiles(sources.projectRoot, { 'docs/new.md': '# Walnut\n\nOf the project.\n' })
    expect(await buildIndex({ indexPath, ...sources })).toEqual({ documents: 3, passages: 3, images: 1 })
    expect(await ensureIndex({ indexPath, ...sources, builtIn: false })).toBeNull()
    expect(await own.add({ location: docs })).toMatchObject({ unchanged: 3 })

    await ensureIndex({ indexPath, ...sources, builtIn: true })
    expect(urls(await ask('walnut', { spellcheck: false }))).toContain(builtIn!)
    expect(await own.totals()).toMatchObject({ built_in: 'yes' })
  })
})

describe('while the gateway serves', () => {
  test('every search sees all of a change or nothing of it', async () => {
    writeFiles(
      docs,
      Object.fromEntries(
        Array.from({ length: 30 }, (_, at) => [`p${at}.md`, `# Part ${at}\n\nRoyal jelly of part ${at}.`]),
      ),
    )
    const wide = { count: 50, maximum_number_of_urls: 50, spellcheck: false }
    const found = async () => urls(await ask('royal jelly', wide)).length
    const seen = new Set([await found()])
    let done = false
    const adding = own.add({ location: docs }).finally(() => {
      done = true
    })
    while (!done) seen.add(await found())
    await adding
    seen.add(await found())
    expect([...seen].sort((a, b) => a - b)).toEqual([0, 30])
  })

  test('added sources survive a rebuild of the rest', async () => {
    await own.add({ location: docs, baseUrl: 'https://docs.example/' })
    writeFiles(sources.projectRoot, { 'docs/new.md': '# New\n\nOf the project.\n' })
    await buildIndex({ indexPath, ...sources })
    expect(urls(await ask('fermented honey'))).toEqual(['https://docs.example/plain.txt'])
    expect(await own.add({ location: docs })).toMatchObject({ unchanged: 3, added: 0, changed: 0 })
  })

  test('two concurrent changes both happen, and leave nothing behind', async () => {
    const other = join(folder.path, 'other')
    writeFiles(other, { 'x.md': '# Skep\n\nA basket of straw.' })
    await Promise.all([own.add({ location: docs }), own.add({ location: other })])
    expect((await own.list()).map(({ location }) => location).sort()).toEqual([docs, other].sort())
    expect(readdirSync(join(folder.path, 'data')).sort()).toEqual(['search.db', 'search.db.lock'])
  })
})
