import { describe, expect, test } from 'bun:test'
import { languageOf } from '../../../../server/adapters/websearch/local/own/read-own-file'
import { parseMarkdown } from '../../../../server/adapters/websearch/passages/markdown-sections'
import { pageContent } from '../../../../server/adapters/websearch/passages/page-content'
import { passagesOf, snippetOf } from '../../../../server/adapters/websearch/passages/passages'

const prose = 'The lathe turns the wood between two centres while the gouge takes a thin shaving off. '.repeat(8)
const PAGE = `<!doctype html><html lang="en-GB"><head><title>Turning wood | Workshop</title>
<base href="https://workshop.example/guides/">
<link rel="canonical" href="/guides/turning"><link rel="icon" href="/icon.png">
<meta property="og:site_name" content="Workshop"><meta name="description" content="How to turn.">
<meta property="og:image" content="lathe.jpg"><meta property="article:published_time" content="2026-03-10T08:00:00+01:00">
<meta name="geo.position" content="52.52;13.405"><meta name="geo.placename" content="Berlin"><meta name="geo.region" content="DE-BE">
</head><body><nav><a href="/">Home</a> <a href="/shop">Cookies and shop</a></nav>
<article><h1>Turning wood</h1><p>${prose}</p><h2>Speeds &amp; feeds</h2>
<table><thead><tr><th>Diameter</th><th>Speed</th></tr></thead><tbody><tr><td>100 mm</td><td>1200</td></tr><tr><td>200 mm</td><td>800</td></tr></tbody></table>
<p>${prose}</p><pre><code class="language-ts">const speed = diameter &lt; 100
  ? 1200
  : 800</code></pre>
<figure><img src="gouge.jpg" alt="A gouge" width="640" height="480px"><figcaption>Bowl gouge, 12 mm</figcaption></figure>
<p>${prose}</p></article><footer>Terms of the shop</footer></body></html>`

describe('an HTML page', () => {
  const page = pageContent(PAGE, 'https://mirror.example/x')

  test('gives its main content as Markdown, without navigation and footer', () => {
    expect(page.markdown).toContain('gouge takes a thin shaving')
    expect(page.markdown).not.toContain('Cookies')
    expect(page.markdown).not.toContain('Terms of the shop')
  })

  test('preserves headings, tables and code into the snippets', () => {
    const snippets = passagesOf(parseMarkdown(page.markdown).sections).map(snippetOf).join('\n\n')
    expect(snippets).toContain('Speeds & feeds')
    expect(snippets).toMatch(/\| Diameter \| Speed \|\n\| -+ \| -+ \|\n\| 100 mm +\| 1200 +\|\n\| 200 mm +\| 800 +\|/)
    expect(snippets).toContain('```ts\nconst speed = diameter < 100\n  ? 1200\n  : 800\n```')
  })

  test('gives its metadata, with absolute addresses and the time in UTC', () => {
    expect(page).toMatchObject({
      title: 'Turning wood | Workshop',
      canonicalUrl: 'https://workshop.example/guides/turning',
      favicon: 'https://workshop.example/icon.png',
      picture: 'https://workshop.example/guides/lathe.jpg',
      siteName: 'Workshop',
      description: 'How to turn.',
      published: '2026-03-10T07:00:00.000Z',
      lang: 'en-GB',
      adult: 0,
      place: { latitude: 52.52, longitude: 13.405, city: 'Berlin', country: 'DE', state: 'BE' },
    })
  })

  test('gives its pictures with their words and sizes', () => {
    expect(page.images).toEqual([
      {
        url: 'https://workshop.example/guides/gouge.jpg',
        alt: 'A gouge',
        caption: 'Bowl gouge, 12 mm',
        width: 640,
        height: 480,
      },
    ])
  })

  test('is adult according to its rating', () => {
    const rated = (rating: string) =>
      pageContent(`<meta name="rating" content="${rating}"><p>x</p>`, 'https://a.example/').adult
    expect(['general', 'mature', 'adult', 'RTA-5042-1996-1400-1577-RTA'].map(rated)).toEqual([0, 1, 2, 2])
  })

  test('gives its place and date from its structured data', () => {
    const data = JSON.stringify({
      '@graph': [
        {
          '@type': 'Cafe',
          name: 'Rost',
          geo: { latitude: '48.1', longitude: 11.5 },
          address: { addressLocality: 'München' },
        },
        { '@type': 'Article', datePublished: '2025-05-01' },
      ],
    })
    const found = pageContent(`<script type="application/ld+json">${data}</script><p>x</p>`, 'https://a.example/')
    expect(found.place).toEqual({ latitude: 48.1, longitude: 11.5, name: 'Rost', city: 'München' })
    expect(found.published).toBe('2025-05-01T00:00:00.000Z')
  })

  test('is read whatever its JSON-LD contains: endless lists, and values nested too deep', () => {
    const scripts = [
      `[${'0,'.repeat(1_000_000)}0]`,
      `${'['.repeat(90_000)}${']'.repeat(90_000)}`,
      '{"datePublished":"2025-05-01"}',
    ]
    const html = scripts.map((json) => `<script type="application/ld+json">${json}</script>`).join('')
    const found = pageContent(`${html}<article><p>${'words and more. '.repeat(30)}</p></article>`, 'https://a.example/')
    expect(found).toMatchObject({
      published: '2025-05-01T00:00:00.000Z',
      markdown: expect.stringContaining('words and more'),
    })
  })

  test.each([
    [''],
    ['<'],
    ['<html>'],
    ['plain words'],
    ['<script type="application/ld+json">{</script>'],
    ['<table>'.repeat(500)],
    [`<html lang="en"><title>T</title><article><p>${'words and more. '.repeat(30)}`],
  ])('that is not a page throws nothing: %p', (html) => {
    expect(typeof pageContent(html, 'https://a.example/').markdown).toBe('string')
  })

  // Input for which the readers of trees would need minutes: their time grows with the square of each of these.
  test.each([
    ['elements in one another', '<b>'],
    ['elements side by side', '<p>a '],
    ['line breaks in one paragraph', 'a<br>'],
    ['signs that begin no tag', '<'],
    ['tables in one another', '<table><tr><td>'],
    ['sections that never end', '<section><header></header>'],
  ])('of three million characters of %s is read as plain text, with its metadata', (_, flood) => {
    const head =
      '<html><head><title>Flood</title><meta name="description" content="Of tags."></head><body><h2>Known</h2>'
    const words = '<p>The words before it &amp; <b>more</b>.</p><nav>Menu</nav>'
    const html = `${head}${words}${flood.repeat(Math.floor(2_900_000 / flood.length))}`
    const page = pageContent(html, 'https://a.example/')
    expect(page).toMatchObject({ title: 'Flood', description: 'Of tags.' })
    expect(page.markdown).toStartWith('## Known\n\nThe words before it & more')
    expect(page.markdown).not.toContain('Menu')
  })

  test('uses only addresses of the web', () => {
    const html =
      '<link rel="canonical" href="javascript:alert(1)"><link rel="icon" href="file:///etc/passwd"><img src="data:x"><p>x</p>'
    const found = pageContent(html, 'https://a.example/')
    expect([found.canonicalUrl, found.favicon, found.images]).toEqual([undefined, undefined, []])
  })
})

describe('the language of a text', () => {
  test.each([
    ['en', 'The gateway holds the price before it asks the provider, and captures it before it answers.'],
    ['de', 'Das Gateway hält den Preis zurück, bevor es den Anbieter fragt, und bucht ihn vor der Antwort ab.'],
    ['fr', 'La passerelle réserve le prix avant de demander au fournisseur et le débite avant de répondre.'],
    [
      'ja',
      'ゲートウェイは、プロバイダーに問い合わせる前に料金を確保し、応答する前に確定します。ありがとうございます。',
    ],
  ])('%s is detected', (language, text) => {
    expect(languageOf(text)).toBe(language)
  })

  test('is detected by the prose, not by the code', () => {
    const code = `\`\`\`\n${'return the value of this function and then the other one\n'.repeat(50)}\`\`\`\n`
    expect(languageOf(`${code}Der Preis wird vor der Anfrage zurückgehalten und danach abgebucht.`)).toBe('de')
  })

  test('is not detected from too few words', () => {
    expect(languageOf('OK')).toBeNull()
  })
})
