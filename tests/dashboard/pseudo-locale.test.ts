import { afterAll, beforeAll, expect, test } from 'bun:test'
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
  const { page } = await visit(dashboard.browser, dashboard.origin, '/favicon.svg')
  const answers = watchAnswers(page)
  await serveInstead(page, await pseudoDashboard())
  await page.goto(`${dashboard.origin}/settings`)
  await page.locator('h1').first().waitFor()
  const found: Record<string, readonly string[]> = {}
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
      '/operator/apis/import/new',
      '/operator/money',
      '/operator/audit',
    ],
    ...[
      `/operator/accounts/${owner.accountId}`,
      '/forgot-password',
      '/reset-password',
      '/device',
      '/sign-up',
      '/sign-in',
      '/nothing-here',
    ],
  ]
  for (const path of paths) {
    await follow(page, path)
    await answers.arrived()
    const isData = (text: string) => answers.includes(text) || UNTRANSLATED.some((one) => one.test(text))
    const rest = await unmarkedText(page, isData)
    if (rest.length > 0) found[path] = rest
  }
  expect(found).toEqual({})
  await page.close()
})

test('every text of messages is marked, also what functions return, but not where an action leads; marks may be nested', () => {
  const { action, names } = marked({
    action: { label: 'Top up', to: '/billing' },
    names: (one: string) => [`of ${one}`],
  })
  expect(action).toEqual({ label: '⟦Top up⟧', to: '/billing' })
  expect(names(action.label)).toEqual(['⟦of ⟦Top up⟧⟧'])
  expect(withoutMarked(`left ${names(action.label)} over`)).toBe('left  over')
})
