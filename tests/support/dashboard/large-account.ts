import type { AccountId } from '../../../server/core/ids'
import { seedCalls } from '../databases/seed-calls'
import type { Dashboard } from './browser'

const IMAGES = '/apis/v1/websearch/images/search?q=card'
/** As long as a name may be, with and without a place to break it. */
const LONG = ['billing-export-worker-of-the-northern-region-nightly-batch-job-01', 'W'.repeat(64)]

/**
 * Somebody new with more than fits on a page: keys with the longest names, tiny limits, a rotated pair, every status, a key for another
 * computer, and calls that succeeded and failed. The newest key cannot be used from here.
 */
export async function largeAccount(dashboard: Dashboard, { keys, calls }: { keys: number; calls: number }) {
  const owner = await dashboard.signedIn()
  const id = owner.accountId as AccountId
  const account = await dashboard.core.accounts.byId(id)
  if (!account) throw new Error('no account')
  // The tier with the longest name.
  await dashboard.core.operator.setLimits({ kind: 'operator', id: 'test', address: null }, id, {
    rpm: 3_000,
    tpm: 3_000_000,
    concurrency: 50,
  })
  const made = async (body: Record<string, unknown>) => {
    const { key, secret } = await (await owner.api('/api/keys', body)).json()
    return { id: String(key.id), secret: String(secret) }
  }
  await Promise.all(Array.from({ length: keys }, (_, at) => dashboard.key(account, { name: `worker ${at}` })))
  const [long, unbroken] = await Promise.all(LONG.map((name) => made({ name: name.slice(0, 64) })))
  const tiny = await made({ name: 'tiny', spending_limit: 0.007 })
  const off = await made({ name: 'switched off' })
  // More keys with calls than a chart has colours.
  const used = [await made({ name: 'batch one' }), await made({ name: 'batch two' })]
  const rotated = await made({ name: 'rotated', spending_limit: 0.312645 })
  for (const { secret } of [long, unbroken, tiny, off, rotated, ...used].flatMap((key) => key ?? []))
    await dashboard.as(secret, IMAGES)
  await dashboard.as(tiny.secret, IMAGES)
  await owner.api(`/api/keys/${off.id}/disable`, undefined, 'POST')
  await owner.api(`/api/keys/${rotated.id}/rotate`, { grace_period_seconds: 80_000 })
  if (calls > 0) await seedCalls(dashboard, { id }, { key: off.id, count: calls })
  const elsewhere = await made({ name: 'elsewhere', allowed_ips: ['198.51.100.0/24'] })
  return { owner, tiny, rotated, elsewhere }
}
