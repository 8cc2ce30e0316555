import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { oauthApp } from '../support/agents/oauth'
import { type Dashboard, follow, openDashboard, visit } from '../support/dashboard/browser'
import { marked } from '../support/pseudo-locale/marked'
import {
  pseudoDashboard,
  serveInstead,
  unmarkedText,
  watchAnswers,
  withoutMarked,
} from '../support/pseudo-locale/pseudo-dashboard'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

const SEARCH = '/apis/v1/websearch/images/search'
const ROUTER = join(import.meta.dir, '..', '..', 'dashboard', 'src', 'router.tsx')

/** An API on sale. */
const API = {
  ...{ name: 'weather', base_url: 'https://example.com', auth: 'none', price: { mode: 'fixed', usd: '0.01' } },
  document: JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Weather', version: '1' },
    paths: { '/now': { get: { operationId: 'now', responses: { 200: { description: 'The weather.' } } } } },
  }),
}

/** What no translation changes and the gateway did not send: times and time zones, which the browser writes, and names of products. */
const UNTRANSLATED = [
  /^\d{1,2} \p{L}{3}( \d{4})?$/u,
  /^[\d:. -]+ UTC$/,
  /^(UTC|[A-Z]\w+\/[\w/ -]+)$/,
  /^gwk_\w+…\w+$/,
  /^[a-z_]+: \d+$/,
  /^(curl|JavaScript|Python|Claude Code|Codex|VS Code|Cursor)$/,
]

test('a second language would reach every word: no page shows text that is not in the folder of messages', async () => {
  const owner = await dashboard.signedIn()
  const made = await (await owner.api('/api/keys', { name: 'shop', tags: ['team a'], spending_limit: 0.005 })).json()
  for (const path of [`${SEARCH}?q=card`, `${SEARCH}?q=card`, SEARCH]) await dashboard.as(made.secret, path)
  const gone = await (await owner.api('/api/keys', { name: 'old' })).json()
  await dashboard.as(gone.secret, `${SEARCH}?q=card`)
  await owner.api(`/api/keys/${gone.key.id}/revoke`, undefined, 'POST')
  const { requests } = await (await owner.api('/api/requests')).json()
  await owner.api('/api/webhooks', { url: 'https://example.com/hook' })
  expect((await owner.api('/api/operator/apis/import', API)).status).toBe(200)
  const app = oauthApp(dashboard, owner)
  const { body } = await app.register()
  const asking = app.authorizeUrl({ client_id: String(body['client_id']) }).url
  const { page } = await visit(dashboard.browser, dashboard.origin, '/favicon.svg')
  const answers = watchAnswers(page)
  await serveInstead(page, await pseudoDashboard())
  const found: Record<string, readonly string[]> = {}
  const check = async (path: string) => {
    await answers.arrived()
    const isData = (text: string) => answers.includes(text) || UNTRANSLATED.some((one) => one.test(text))
    const rest = await unmarkedText(page, isData)
    if (rest.length > 0) found[path] = rest
  }
  // The query of an app's request is read when the page is loaded.
  await page.goto(asking.href)
  await page.locator('h1').first().waitFor()
  await check('/consent')
  await page.goto(`${dashboard.origin}/settings`)
  await page.locator('h1').first().waitFor()
  const paths = [
    ...[
      '/',
      '/keys',
      `/keys/${made.key.id}`,
      '/usage',
      '/billing',
      '/usage?tab=requests',
      '/limits',
      '/usage?tab=latency',
      '/social',
    ],
    ...[
      '/usage?tab=models',
      '/keys?create=true',
      `/requests/${requests[0].id}`,
      '/playground',
      '/catalogue',
      '/apps',
      '/webhooks',
      '/notices',
      '/audit',
    ],
    ...[
      '/settings',
      '/welcome',
      '/operator',
      '/operator/apis',
      '/operator/apis/weather',
      '/operator/apis/weather/import',
      '/operator/apis/import/new',
      '/operator/money',
      '/operator/audit',
    ],
    ...[
      `/operator/accounts/${owner.accountId}`,
      '/forgot-password',
      '/reset-password',
      '/confirm-email',
      '/consent',
      '/device',
      '/sign-up',
      '/sign-in',
      '/nothing-here',
    ],
  ]
  expect(routesBesides(paths, await Bun.file(ROUTER).text())).toEqual([])
  for (const path of paths) {
    await follow(page, path)
    await check(path)
  }
  expect(found).toEqual({})
  await page.close()
})

/** The routes in the source of the router that none of `paths` leads to. */
function routesBesides(paths: readonly string[], source: string): string[] {
  const routes = [...source.matchAll(/(?:[pP]age\(|path: )'([^']+)'/g)].map(([, route = '']) => route)
  expect(routes.length).toBeGreaterThan(30)
  return routes.filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll(/\$\w+/g, '[^/]+')}$`)
    return !paths.some((path) => pattern.test(path.replace(/\?.*/, '')))
  })
}

test('every text of messages is marked, also what functions return, but not where an action leads; marks may be nested', () => {
  const { action, names } = marked({
    action: { label: 'Top up', to: '/billing' },
    names: (one: string) => [`of ${one}`],
  })
  expect(action).toEqual({ label: '⟦Top up⟧', to: '/billing' })
  expect(names(action.label)).toEqual(['⟦of ⟦Top up⟧⟧'])
  expect(withoutMarked(`left ${names(action.label)} over`)).toBe('left  over')
})
