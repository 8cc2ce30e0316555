import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { PageReader } from '../../../../server/adapters/websearch/searxng/page-reader'
import type { FoundPage } from '../../../../server/adapters/websearch/searxng/page-wire'

const never = new AbortController().signal

function page(text: string, isHtml = true, charset: string | null = null): FoundPage {
  const bytes = new TextEncoder().encode(text)
  const engine = { title: 'Engine title', excerpt: 'The excerpt of the engine.', published: null, thumbnail: '' }
  return { url: 'https://www.site.test/a', ...engine, fetchedAt: 7, prior: 1, fetched: { bytes, isHtml, charset } }
}

describe('reading a page', () => {
  const desk = new PageReader()
  afterAll(() => desk.close())

  test('uses its main content, and its own metadata before that of the engine', async () => {
    const html = `<html><head><title>Own title</title><meta name="description" content="Own words">
      <meta property="og:site_name" content="The Site"><link rel="icon" href="/i.png"></head>
      <body><nav>menu menu</nav><article><h1>Quartz</h1><p>${'Quartz is a mineral of silicon and oxygen. '.repeat(8)}</p></article></body></html>`
    const read = await desk.read(page(html), never)
    expect(read?.page).toMatchObject({
      title: 'Own title',
      siteName: 'The Site',
      description: 'Own words',
      hostname: 'www.site.test',
      favicon: 'https://www.site.test/i.png',
      fetchedAt: 7,
    })
    expect(read?.page.passages.map(({ text }) => text).join(' ')).toContain('mineral of silicon')
    expect(JSON.stringify(read?.page.passages)).not.toContain('menu menu')
  })

  test('falls back to the excerpt if there are no bytes, or nothing in them', async () => {
    const texts = async (found: FoundPage) => (await desk.read(found, never))?.page.passages.map(({ text }) => text)
    expect(await texts({ ...page(''), fetched: null })).toEqual(['The excerpt of the engine.'])
    expect(await texts(page('<html><body></body></html>'))).toEqual(['The excerpt of the engine.'])
    expect((await desk.read({ ...page(''), fetched: null }, never))?.page).toMatchObject({
      title: 'Engine title',
      siteName: 'site.test',
      description: 'The excerpt of the engine.',
    })
  })

  test('decodes other alphabets by the server’s charset, the page’s, or UTF-8', async () => {
    const latin = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
    const body = 'Mülleimer überall in der Straße. '.repeat(5)
    const first = async (bytes: Uint8Array<ArrayBuffer>, charset: string | null) => {
      const read = await desk.read({ ...page(''), fetched: { bytes, isHtml: true, charset } }, never)
      return read?.page.passages[0]?.text.slice(0, 9)
    }
    expect(await first(latin(`<p>${body}</p>`), 'iso-8859-1')).toBe('Mülleimer')
    expect(await first(latin(`<meta charset="windows-1252"><p>${body}</p>`), null)).toBe('Mülleimer')
    expect(await first(new Uint8Array(Buffer.from(`<p>${body}</p>`)), 'no-such-charset')).toBe('Mülleimer')
  })

  test('plain text and Markdown are split as they are', async () => {
    const read = await desk.read(page('# Title\n\nSome words on <b>tags</b>.', false), never)
    expect(read?.page.passages[0]).toMatchObject({ heading: 'Title' })
  })

  test('elements nested a thousand deep are read as text, at once', async () => {
    const read = await desk.read(page(`<body>${'<div>'.repeat(1000)}The words at the bottom.</body>`), never)
    expect(read?.page.passages[0]?.text).toContain('The words at the bottom.')
  })
})

describe('the thread', () => {
  let desk: PageReader
  afterEach(() => desk.close())
  const hanging = new URL('./hanging-page-worker.ts', import.meta.url)

  test('a page that hangs it is abandoned, and another thread reads the next one', async () => {
    desk = new PageReader({ workerUrl: hanging, maxMs: 500 })
    const [hung, after] = await Promise.all([desk.read(page('hang'), never), desk.read(page('fine'), never)])
    expect(hung).toBeNull()
    expect(after?.page.title).toBe('fine')
  })

  test('a page that ends it, and one it cannot read, fail alone', async () => {
    desk = new PageReader({ workerUrl: hanging, maxMs: 2_000 })
    expect(await desk.read(page('throw'), never)).toBeNull()
    expect((await desk.read(page('fine'), never))?.page.title).toBe('fine')
    expect(await desk.read(page('exit'), never)).toBeNull()
    expect((await desk.read(page('fine'), never))?.page.title).toBe('fine')
  })

  test('an aborted caller stops waiting, and the next page is read', async () => {
    desk = new PageReader({ workerUrl: hanging, maxMs: 500 })
    const abort = new AbortController()
    const hung = desk.read(page('hang'), abort.signal)
    const queued = desk.read(page('fine'), abort.signal)
    const other = desk.read(page('fine'), never)
    abort.abort()
    expect(await hung).toBeNull()
    expect(await queued).toBeNull()
    expect((await other)?.page.title).toBe('fine')
    expect(await desk.read(page('fine'), AbortSignal.abort())).toBeNull()
  })

  test('after close, it reads nothing more', async () => {
    desk = new PageReader({ workerUrl: hanging })
    const waiting = desk.read(page('hang'), never)
    desk.close()
    expect(await waiting).toBeNull()
    expect(await desk.read(page('fine'), never)).toBeNull()
  })
})
