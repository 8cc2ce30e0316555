import { join } from 'node:path'
import { cursorOf } from '../../server/adapters/stores/libsql/driver/cursor'
import { openFile } from '../support/databases/database-file'
import { type Reader, type SeededUsage, seedUsage } from './seed-usage'
import { quantile, table } from './statistics'
import { type Helper, SERVER_CORE, type Workshop } from './workshop'

export interface PageTimes {
  readonly page: string
  readonly account: Reader['name']
  readonly bytes: number
  /** Milliseconds. */
  readonly p50: number
  readonly p95: number
  /** The longest that a request of somebody else waited meanwhile: how long the page held the JS thread. */
  readonly stallMs: number
}

export interface UsageResult {
  readonly rows: number
  readonly seedSeconds: number
  readonly pages: readonly PageTimes[]
}

const DAY = 86_400
const MAX_CALLS = 100
const MAX_MS = 8_000
const PING_EVERY_MS = 5

/** Times an owner's pages over the real server on a database of `rows` calls. */
export async function measureUsage(workshop: Workshop, rows: number): Promise<UsageResult> {
  const folder = await workshop.folder('usage')
  const seeded = await seedUsage(workshop, folder, rows)
  const middle = await middleEntry(join(folder, 'gateway.db'))
  const gateway = await workshop.helper('gateway.ts', [folder, 'http://127.0.0.1:9'], SERVER_CORE)
  const pages: PageTimes[] = []
  for (const reader of seeded.readers)
    for (const [page, path] of Object.entries(paths(seeded, middle)))
      pages.push(await timePage(gateway, reader, page, path))
  await gateway.stop()
  workshop.removeFolder(folder)
  return { rows, seedSeconds: seeded.seconds, pages }
}

function paths({ now }: SeededUsage, middleEntry: number): Record<string, string> {
  const seconds = Math.floor(now / 1000)
  const halfway = now - 45 * DAY * 1000
  const range = (days: number) => `start_time=${seconds - days * DAY}&end_time=${seconds}`
  return {
    'requests, first page': '/api/requests?limit=50',
    'requests, 45 days deep': `/api/requests?limit=50&cursor=${cursorOf(halfway, 'req_0')}`,
    'requests of one key': '/api/requests?limit=50&key=KEY',
    'requests of a rare status': '/api/requests?limit=50&status=402',
    'requests of one model': '/api/requests?limit=50&model=model-1',
    'usage, 30 days by key': `/api/usage?bucket_width=1d&group_by=key&${range(30)}`,
    'usage, 90 days by key': `/api/usage?bucket_width=1d&group_by=key&${range(90)}`,
    'usage, 30 days by model': `/api/usage?bucket_width=1d&group_by=model&${range(30)}`,
    'usage, 90 days by model': `/api/usage?bucket_width=1d&group_by=model&${range(90)}`,
    'usage of one model, 30 days': `/api/usage?bucket_width=1d&model=model-1&${range(30)}`,
    'usage, 30 days, Berlin': `/api/usage?bucket_width=1d&timezone=Europe%2FBerlin&${range(30)}`,
    'usage, 24 hours': `/api/usage?bucket_width=1h&${range(1)}`,
    'transactions, first page': '/api/transactions?limit=50',
    'transactions, half deep': `/api/transactions?limit=50&cursor=${cursorOf(middleEntry, '1000000')}`,
    '/v1/usage of a key, 30 days': `/v1/usage?${range(30)}`,
  }
}

async function middleEntry(file: string): Promise<number> {
  const client = openFile(file)
  const { rows } = await client.execute('SELECT max(seq) AS last FROM entries')
  client.close()
  return Math.floor(Number(rows[0]?.['last']) / 2)
}

async function timePage(gateway: Helper, reader: Reader, page: string, path: string): Promise<PageTimes> {
  const base = `http://127.0.0.1:${gateway.ready.split(' ')[0]}`
  const headers: Record<string, string> = path.startsWith('/v1/')
    ? { authorization: `Bearer ${reader.keys[0]?.secret}` }
    : { cookie: reader.cookie }
  const url = base + path.replace('KEY', reader.keys[0]?.id ?? '')
  const ask = async () => {
    const begun = performance.now()
    const answer = await fetch(url, { headers })
    const { length } = await answer.text()
    if (answer.status !== 200) throw new Error(`${page}: ${answer.status}`)
    return { ms: performance.now() - begun, length }
  }
  const { length } = await ask()
  const times: number[] = []
  const end = performance.now() + MAX_MS
  while (times.length < MAX_CALLS && (times.length < 5 || performance.now() < end)) times.push((await ask()).ms)
  const stallMs = await longestWait(base, ask)
  return { page, account: reader.name, bytes: length, p50: quantile(times, 0.5), p95: quantile(times, 0.95), stallMs }
}

/** Asks for something that costs nothing, again and again, while a page is made. */
async function longestWait(base: string, page: () => Promise<unknown>): Promise<number> {
  let done = false
  let longest = 0
  const watch = async () => {
    while (!done) {
      const begun = performance.now()
      await (await fetch(`${base}/health`)).text()
      longest = Math.max(longest, performance.now() - begun)
      await Bun.sleep(PING_EVERY_MS)
    }
  }
  const watching = watch()
  await Bun.sleep(50)
  longest = 0
  for (let i = 0; i < 3; i++) await page()
  done = true
  await watching
  return longest
}

export function describeUsage({ rows, seedSeconds, pages }: UsageResult): string {
  return [
    `${rows.toLocaleString('en')} calls of 90 days and 1000 accounts, a tenth of them of the large one; seeded in ${seedSeconds.toFixed(0)} s.`,
    table(
      ['Page', 'account', 'p50 ms', 'p95 ms', 'others waited at most ms', 'answer KB'],
      pages.map((page) => [
        page.page,
        page.account,
        page.p50.toFixed(1),
        page.p95.toFixed(1),
        page.stallMs.toFixed(1),
        (page.bytes / 1000).toFixed(1),
      ]),
    ),
  ].join('\n\n')
}
