import { basename, join } from 'node:path'
import type { BunPlugin } from 'bun'
import type { Page, Request } from 'playwright-core'
import { drawn } from '../dashboard/tabs'
import { until } from '../until'
import { MARKS } from './marked'

const SOURCE = join(import.meta.dir, '..', '..', '..', 'dashboard', 'src')
const MARKED = join(import.meta.dir, 'marked.ts')

/** Files of code by name. */
type Code = ReadonlyMap<string, string>

/** The dashboard's code with marks around every message: Bun bundles it in a tenth of the time of a real build. */
export async function pseudoDashboard(): Promise<Code> {
  const { outputs } = await Bun.build({
    entrypoints: [join(SOURCE, 'main.tsx')],
    target: 'browser',
    splitting: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [MARKED_MESSAGES],
  })
  return new Map(await Promise.all(outputs.map(async (file) => [basename(file.path), await file.text()] as const)))
}

/** Marks what every file of messages exports. */
const MARKED_MESSAGES: BunPlugin = {
  name: 'marked messages',
  setup(build) {
    build.onLoad({ filter: /\/messages\/[\w-]+\.ts$/ }, async ({ path }) => {
      const source = await Bun.file(path).text()
      const { exports } = new Bun.Transpiler({ loader: 'ts' }).scan(source)
      const own = exports.reduce(
        (text, name) =>
          text
            .replace(new RegExp(`^export (const|function) ${name}\\b`, 'm'), `$1 ${name}`)
            .replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `own_${name}`),
        source,
      )
      const lines = exports.map((name) => `export const ${name} = marked(own_${name})`)
      return { loader: 'ts', contents: `import { marked } from '${MARKED}'\n${own}\n${lines.join('\n')}` }
    })
  },
}

/** Serves it in a tab instead of the built code; the page itself and the styles stay. */
export async function serveInstead(page: Page, code: Code): Promise<void> {
  await page.route(/\/assets\/[^/]+\.js$/, (route) => {
    const name = basename(new URL(route.request().url()).pathname)
    const body = code.get(name.startsWith('index-') ? 'main.js' : name) ?? ''
    return route.fulfill({ contentType: 'text/javascript', body })
  })
}

/** What the gateway sends to a tab from now on. */
export function watchAnswers(page: Page) {
  const texts = new Set<string>()
  const open = new Set<Request>()
  const collect = (value: unknown): void => {
    // The dashboard shows what stands between backticks as code.
    if (typeof value === 'string')
      for (const line of [value, ...value.split('\n')]) texts.add(line.trim()).add(line.replaceAll('`', '').trim())
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) {
        texts.add(name)
        collect(one)
      }
  }
  page.on('request', (request) => {
    if (request.resourceType() === 'fetch') open.add(request)
  })
  page.on('requestfailed', (request) => open.delete(request))
  page.on('requestfinished', async (request) => {
    const response = await request.response()
    if (response?.headers()['content-type']?.includes('json')) collect(await response.json().catch(() => null))
    open.delete(request)
  })
  return {
    /** Resolves when the page waits for no answer and has drawn the last one. */
    async arrived(): Promise<void> {
      do {
        await until(() => open.size === 0)
        await drawn(page)
      } while (open.size > 0)
    },
    includes: (text: string) => texts.has(text) || texts.has(text.replace(/ \((GET|POST)\)$/, '')),
  }
}

/** What the page shows or reads out that stands outside of marks, has letters, and is not `data`. */
export async function unmarkedText(page: Page, isData: (text: string) => boolean): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const found = [document.title]
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      if (node instanceof Element)
        for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-valuetext'])
          found.push(node.getAttribute(name) ?? '')
      else if (!node.parentElement?.closest('script, style, noscript, code, pre, .code, time'))
        found.push(node.textContent ?? '')
    return found
  })
  const rest = texts.map(withoutMarked).filter((text) => !isData(text))
  const parts = rest.flatMap((text) => text.split(/, | · |\n/)).map((text) => text.replaceAll(EDGES, ''))
  return [...new Set(parts)].filter((text) => /\p{L}{2}/u.test(text) && !isData(text))
}

const EDGES = /^[\s,:·…()"+]+|[\s,:·…()"+]+$/g

/** A text without what stands between marks, which may be nested. */
export function withoutMarked(text: string): string {
  let depth = 0
  let rest = ''
  for (const char of text) {
    if (char === MARKS.open) depth++
    else if (char === MARKS.close) depth--
    else if (depth === 0) rest += char
  }
  return rest.trim()
}
