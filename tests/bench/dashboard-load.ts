/**
 * How long the dashboard takes over a bad connection: 600 ms of latency, 50 kB/s, an account with 501 keys. Prints the times of
 * docs/dashboard.md: `bun run bench:dashboard`.
 */
import type { Page } from 'playwright-core'
import { openDashboard } from '../support/dashboard/browser'
import { seedCalls } from '../support/databases/seed-calls'

const KEYS = 501
const SLOW = { offline: false, latency: 600, downloadThroughput: 50_000, uploadThroughput: 50_000 }
const PAGES = [
  { path: '/', usable: 'dl > div:has-text("Spend today") dd:has-text("$")' },
  { path: '/usage?range=24h', usable: 'table caption:has-text("Usage by key")' },
  { path: '/keys', usable: 'tbody tr:nth-child(50)' },
] as const

const dashboard = await openDashboard()
const owner = await dashboard.signedIn()
const account = await dashboard.core.accounts.byId(owner.accountId as `acct_${string}`)
if (!account) throw new Error('no account')
for (let at = 0; at < KEYS; at++) {
  const { id, secret } = await dashboard.key(account, { name: `service ${at}` })
  await seedCalls(dashboard, account, { key: id, count: 1 })
  if (at < 8) await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')
}
for (const { path, usable } of PAGES)
  for (const cache of ['cold', 'warm'] as const) console.log(path, cache, await timesOf(path, usable, cache))
await dashboard.close()
process.exit(0)

/** Seconds until the shell is painted, and until the page shows what it is for. */
async function timesOf(path: string, usable: string, cache: 'cold' | 'warm') {
  const { page } = await dashboard.visit('/favicon.svg')
  const session = await dashboard.browser.newCDPSession(page)
  await session.send('Network.enable')
  if (cache === 'cold') await session.send('Network.clearBrowserCache')
  await session.send('Network.emulateNetworkConditions', SLOW)
  let [requests, bytes] = [0, 0]
  session.on('Network.requestWillBeSent', () => requests++)
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  const begun = performance.now()
  await page.goto(dashboard.origin + path, { waitUntil: 'commit' })
  const ready = await shownAt(page, usable)
  // The frame is painted first.
  const shell = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)
  await session.detach()
  await page.close()
  const seconds = (at: number) => Math.round((at - begun) / 100) / 10
  return { shell: Math.round(shell / 100) / 10, usable: seconds(ready), requests, kilobytes: Math.round(bytes / 1000) }
}

async function shownAt(page: Page, selector: string): Promise<number> {
  await page.locator(selector).first().waitFor({ state: 'attached' })
  return performance.now()
}
