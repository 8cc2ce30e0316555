import type { Identity } from '../../core/accounts/identity'
import { seesOnlyOwn } from '../../core/accounts/roles'
import type { ParameterTable } from '../../core/catalog/parameters'
import { isoTime } from '../../core/clock'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { ZERO } from '../../core/money'
import type { UsageReports } from '../../core/usage/reports'
import { countedOn, type KnownCaller } from '../../pipeline/call'
import { spendable } from '../../pipeline/spendable'
import { Failed } from '../middleware/response/failures'
import type { CreditsBalance, ExplainedRequest, UsageReport, Whoami } from './record'
import { explainedCall, noCall, USAGE_QUERY, usageReport } from './usage-report'

interface UsageParts {
  readonly identity: Pick<Identity, 'user'>
  readonly ledger: Ledger
  readonly reports: UsageReports
  readonly now: () => number
}

export const CALLER_USAGE_QUERY = {
  ...USAGE_QUERY,
  scope: {
    in: 'query',
    kind: 'enum',
    values: ['key', 'account'],
    default: 'key',
    description: 'The usage to report: of this key or app, or of the whole account. API keys can only read their own.',
  },
  group_by: {
    in: 'query',
    kind: 'enum',
    values: ['scope'],
    description:
      'Adds `groups`: the charged calls by the `X-Budget-Scope` that they named, over whole UTC days, of at most 1,000 scopes.',
  },
} as const satisfies ParameterTable

type UsageAsked = Parameters<typeof usageReport>[1] & {
  readonly scope: 'key' | 'account'
  readonly group_by?: 'scope' | undefined
}

/**
 * Usage, single charges and the balance, as a key or app sees them (spec 4.6). Apps with `usage:read` can read the usage of the
 * whole account; keys only their own. Each method throws `Failed` for an expected failure.
 */
export class UsageAnswers {
  private readonly parts: UsageParts

  constructor(parts: UsageParts) {
    this.parts = parts
  }

  async report(caller: KnownCaller, query: UsageAsked): Promise<UsageReport> {
    const { reports, now } = this.parts
    const accountId = caller.account.id
    const grouping = query.group_by ?? null
    if (query.scope === 'key')
      return usageReport(reports, query, { scope: 'key', accountId, keyId: countedOn(caller).id }, grouping, now())
    if (caller.kind === 'key' || seesOnlyOwn(caller.role))
      throw new Failed(
        failure(
          'insufficient_permissions',
          'API keys, and apps of members who see only their own keys, can only read their own usage. Use scope=key.',
        ),
      )
    return usageReport(reports, query, { scope: 'account', accountId, keyId: null }, grouping, now())
  }

  async explained(caller: KnownCaller, id: string): Promise<ExplainedRequest> {
    const own = caller.kind === 'key' || seesOnlyOwn(caller.role) ? countedOn(caller).id : null
    const call = await this.parts.reports.request(caller.account.id, own, id)
    const whose = own ? 'key' : 'account'
    if (!call) throw await noCall(this.parts.reports, id, `This ${whose} made no request with this id.`)
    return explainedCall(call)
  }

  /** The account that calls are charged to, and what the credential may do. A key may be in other hands than the owner's: no email. */
  async whoami(caller: KnownCaller): Promise<Whoami> {
    const { account } = caller
    const who = { account_id: account.id, email: null }
    if (caller.kind === 'key')
      return { ...who, credential: 'key', credential_id: caller.key.id, name: caller.key.name, scopes: null }
    const { grant, scopes } = caller
    const email = (await this.parts.identity.user(grant.userId))?.email ?? null
    return { ...who, email, credential: 'app', credential_id: grant.id, name: grant.clientId, scopes: [...scopes] }
  }

  async balance(caller: KnownCaller): Promise<CreditsBalance> {
    const { ledger, now } = this.parts
    const { account } = caller
    const [balance, pool] = await Promise.all([ledger.balance(account.id), ledger.pool(countedOn(caller).poolId)])
    if (!balance || !pool) throw new Error(`account ${account.id} has no counters`)
    return {
      currency: 'USD',
      account_balance_micros_usd: caller.kind === 'key' ? null : balance.posted,
      available_balance_micros_usd: (await spendable(ledger, { caller }, true)) ?? ZERO,
      api_key: {
        unlimited: pool.remaining === null,
        remaining_micros_usd: pool.remaining,
        used_micros_usd: pool.spent,
      },
      as_of: isoTime(now()),
    }
  }
}
