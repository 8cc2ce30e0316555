import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { markdownHtml } from '../../../server/adapters/guide/markdown-html'
import { type Harness, openHarness } from '../../support/harness'

const DOCS = join(import.meta.dir, '../../../docs')
const BASE = '/docs/guide'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

const html = async (path: string) => (await gateway.call(path)).text()
const addresses = (page: string) =>
  [...page.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, address = '']) => address.replaceAll('&amp;', '&'))

describe('/docs/guide', () => {
  test('has every document, and each of its links leads to a page, and to a heading that is there', async () => {
    const pages = new Map<string, string>()
    const broken: string[] = []
    const visit = async (path: string): Promise<void> => {
      if (pages.has(path)) return
      const answer = await gateway.call(path)
      const page = answer.headers.get('content-type')?.startsWith('text/html') ? await answer.text() : ''
      pages.set(path, page)
      if (answer.status !== 200) broken.push(path)
      for (const address of addresses(page)) {
        const [target = ''] = address.split('#')
        if (target.startsWith(BASE)) await visit(target)
      }
    }
    await visit(BASE)
    for (const [path, page] of pages) {
      for (const address of addresses(page)) {
        const [target = '', id] = address.startsWith('#') ? [path, address.slice(1)] : address.split('#')
        if (id && target.startsWith(BASE) && !pages.get(target)?.includes(` id="${decodeURIComponent(id)}"`))
          broken.push(`${path}: ${address}`)
      }
    }
    expect(broken).toEqual([])
    const documents = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
    for (const name of documents) {
      const path = name === 'README.md' ? BASE : `${BASE}/${name.replace(/\.md$/, '').toLowerCase()}`
      expect([name, pages.has(path)]).toEqual([name, true])
    }
    expect(pages.has(`${BASE}/start`)).toBe(true)
  })

  test('in the repository too, every link between documents leads to a file', () => {
    const root = join(DOCS, '..')
    const documents = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)
    const missing = ['README.md', ...documents.filter((name) => name.endsWith('.md'))].flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8').replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '')
      return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^(https?:|mailto:)/.test(target) && !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path}: ${target}`)
    })
    expect(missing).toEqual([])
  })

  test('begins with the index by reader, which the menu of every page shows', async () => {
    const menu = (await html(BASE)).match(/<nav class="side menu"[\s\S]*?<\/nav>/)?.[0] ?? ''
    for (const name of readdirSync(DOCS).filter((file) => file.endsWith('.md') && file !== 'README.md'))
      expect(menu).toContain(`"${BASE}/${name.replace(/\.md$/, '').toLowerCase()}"`)
    for (const page of [await html(BASE), await html(`${BASE}/models`)])
      for (const reader of ['Owner of an account', 'App developer', 'Operator', 'Contributor'])
        expect(page).toContain(`<h2>${reader}</h2>`)
    expect(await html(`${BASE}/models`)).toContain(`href="${BASE}/models" aria-current="page"`)
  })

  test('finds the section that answers, by its words, by a setting, and by the beginning of a word', async () => {
    const first = async (query: string) => {
      const page = await html(`${BASE}?q=${encodeURIComponent(query)}`)
      return addresses(page.slice(page.indexOf('class="hit"')))[0]
    }
    expect(await first('TRUSTED_PROXIES')).toBe(`${BASE}/configuration#address-and-proxies`)
    expect(await first('verify webhook signature')).toStartWith(`${BASE}/webhooks#verify`)
    expect(await first('who is operator')).toBe(`${BASE}/operating/install#who-is-operator`)
    expect(await first('secrets from a fil')).toBe(`${BASE}/configuration#secrets-from-files`)
    expect(await html(`${BASE}?q=zzzznothing`)).toContain('Nothing found.')
    expect(await html(`${BASE}?q=%20`)).toContain('<h2>Operator</h2>')
  })

  test('names the column in each cell, because phones show a row as a list', async () => {
    const page = await html(`${BASE}/configuration`)
    expect(page).toContain('<td><code>PORT</code></td><td data-column="Default"><code>3000</code></td>')
    expect(page).toContain('content:attr(data-column)')
  })

  test('runs no script, loads nothing from elsewhere, and shows a search as text', async () => {
    const attack = '"><script>alert(1)</script>'
    const answer = await gateway.call(`${BASE}?q=${encodeURIComponent(attack)}`)
    const page = await answer.text()
    expect(page).not.toContain('<script')
    expect(page).toContain('&lt;script&gt;')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; style-src 'sha256-")
    expect(policy).not.toMatch(/unsafe|https?:|script-src|\*/)
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ''
    expect(policy).toContain(`'sha256-${new Bun.CryptoHasher('sha256').update(style).digest('base64')}'`)
    expect(page).not.toContain(' style="')
  })

  test('is compressed, and a picture is not compressed again', async () => {
    const get = (path: string) =>
      gateway.gateway.fetch(new Request(`http://localhost${BASE}${path}`, { headers: { 'accept-encoding': 'br' } }))
    const page = await get('/configuration')
    expect(page.headers.get('content-encoding')).toBe('br')
    expect((await page.bytes()).length).toBeLessThan(16_000)
    const picture = await get('/images/dashboard.png')
    expect([picture.headers.get('content-type'), picture.headers.get('content-encoding')]).toEqual(['image/png', null])
  })

  test('answers an address without a page with 404 and the menu, whatever it says', async () => {
    for (const path of [
      'nosuch',
      '../../package.json',
      '..%2F..%2Fpackage.json',
      'adr/../../../.env',
      '%00',
      '__proto__',
    ]) {
      const answer = await gateway.call(`${BASE}/${path}`)
      expect([path, answer.status]).toEqual([path, 404])
    }
    expect(await html(`${BASE}/nosuch`)).toContain('<h1>There is no such page</h1>')
  })

  test('serves the JSON Schema of gateway.yaml, alone and with its page', async () => {
    for (const path of ['/schemas/gateway.json', `${BASE}/gateway.schema.json`]) {
      const answer = await gateway.call(path)
      expect(answer.headers.get('content-type')).toBe('application/json')
      expect(((await answer.json()) as { properties: object }).properties).toHaveProperty('PORT')
    }
  })
})

describe('Markdown as HTML', () => {
  const rendered = (markdown: string) => markdownHtml(markdown, (href) => (href === 'known.md' ? '/known' : null))

  test('is only the markup of Markdown: tags, handlers and script links stay text', () => {
    const { html } = rendered(
      '# T <img src=x onerror=a>\n\n<script>a</script> [x](javascript:alert(1)) [y](JaVaScRiPt:a) [z](data:text/html,a) [k](known.md) ![" onload="a](javascript:a)\n\n<div onclick=a>b</div>\n\n[q](https://x.example/"onclick="a)\n',
    )
    expect(html).not.toMatch(/<(script|img|div onclick)/i)
    expect(html).not.toMatch(/(href|src)="(?!\/known|#|https:\/\/x\.example)/i)
    expect(html).not.toMatch(/<[^>]* on\w+=/)
    expect(html).toContain('<a href="/known">k</a>')
  })

  test('gives headings the ids that GitHub gives them', () => {
    const { headings } = rendered('# A & `b_c`\n\n## Who is it?\n\n## Who is it?\n\n### Ünï 1.2\n')
    expect(headings).toEqual([
      { level: 1, id: 'a--b_c', text: 'A & b_c' },
      { level: 2, id: 'who-is-it', text: 'Who is it?' },
      { level: 2, id: 'who-is-it-1', text: 'Who is it?' },
      { level: 3, id: 'ünï-12', text: 'Ünï 1.2' },
    ])
  })
})
