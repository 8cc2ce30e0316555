import { Elysia } from 'elysia'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { least, minus, ZERO } from '../../core/money'
import type { UsageReports } from '../../core/usage/reports'
import type { Caller } from '../../gateway/call'
import { documented } from '../docs/documented'
import { USAGE_DOCS } from '../docs/usage-docs'
import type { Exchange } from '../exchange'
import { Failed, notFound } from '../failures'
import type { FrontDesk } from '../front-desk'
import { queryOf } from '../plain-input'
import { explainedCall, USAGE_QUERY, usageReport } from '../usage-report'

const QUERY = {
  ...USAGE_QUERY,
  scope: { in: 'query', kind: 'enum', values: ['key', 'account'], default: 'key', description: 'Whose usage.' },
} as const

const NO_STORE = { 'cache-control': 'no-store' }

/** What a key may know of its own use (spec 4.6): usage, one charge explained, what is left. */
export function usageRoutes(desk: FrontDesk, parts: { ledger: Ledger; reports: UsageReports; now: () => number }) {
  const { ledger, reports, now } = parts
  const answer = async (request: Request, body: (caller: KeyCaller, exchange: Exchange) => Promise<unknown>) => {
    const exchange = desk.exchange(request)
    try {
      return exchange.free(await body(keyCaller(exchange), exchange), NO_STORE)
    } catch (error) {
      if (error instanceof Failed) return exchange.refuse(error.failure)
      throw error
    }
  }
  return new Elysia({ name: 'usage' })
    .get(
      '/v1/usage',
      ({ request }) =>
        answer(request, async ({ key, account }) => {
          const query = queryOf(QUERY, request)
          if (query.scope === 'account')
            throw new Failed(
              failure(
                'insufficient_permissions',
                'The usage of the whole account needs an OAuth session; a key reads only its own.',
              ),
            )
          return usageReport(reports, query, { scope: 'key', accountId: account.id, keyId: key.id }, null, now())
        }),
      documented(USAGE_DOCS.report, QUERY),
    )
    .get(
      '/v1/usage/:id',
      ({ request, params }) =>
        answer(request, async ({ key, account }) => {
          const call = await reports.request(account.id, key.id, params.id)
          if (!call) throw notFound('This key made no request with that id.')
          return explainedCall(call)
        }),
      documented(USAGE_DOCS.explained),
    )
    .get(
      '/v1/credits/balance',
      ({ request }) =>
        answer(request, async ({ key, account }) => {
          const [balance, pool] = await Promise.all([ledger.balance(account.id), ledger.pool(key.poolId)])
          if (!balance || !pool) throw new Error(`account ${account.id} has no counters`)
          const remaining = pool.limit === null ? null : minus(pool.limit, least(pool.spent, pool.limit))
          return {
            currency: 'USD',
            account_balance_micros_usd: balance.posted,
            available_balance_micros_usd: balance.available < 0 ? ZERO : balance.available,
            api_key: {
              unlimited: pool.limit === null,
              remaining_micros_usd: remaining,
              used_micros_usd: pool.spent,
            },
            as_of: new Date(now()).toISOString(),
          }
        }),
      documented(USAGE_DOCS.balance),
    )
}

type KeyCaller = Extract<Caller, { kind: 'key' }>

function keyCaller(exchange: Exchange): KeyCaller {
  const caller = exchange.admitted?.caller
  if (caller?.kind !== 'key') throw new Error('the door let a call without a key pass to a route that needs one')
  return caller
}
