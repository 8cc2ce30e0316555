import type { MemberStore } from '../../core/accounts/members'
import { onlyOf, rightsOf } from '../../core/accounts/roles'
import type { SignUp } from '../../core/accounts/sign-up'
import type { Operator } from '../../core/accounts/staff/operator'
import type { SetupToken } from '../../core/accounts/staff/setup-token'
import type { Parameters } from '../../core/catalog/parameters'
import { isoTime } from '../../core/clock'
import type { CredentialStore } from '../../core/credentials/store'
import type { LiveEvents } from '../../core/events/live-events'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import type { Limiter, Reading } from '../../core/limits/limiter'
import { type Limits, limitsOf, tierOf, withKeyLimits } from '../../core/limits/tier'
import { type Owner, type OwnerSessions, SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { KEY_ROWS_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { validateBody } from '../middleware/input/validate-body'
import { routeGroup } from '../middleware/request-context'
import { Failed, taken } from '../middleware/response/failures'
import { JSON_FAILURES } from '../openapi/body-failures'
import { documented, type EndpointDocs, requestBody } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { costing, page } from '../routing/cost'
import { AccountRecord, LimitsRecord, OperatorClaim, OperatorClaimed, type ReadingRecord } from './record'

const ACCOUNT_DOCS = {
  account: {
    id: 'account',
    tag: 'Account',
    summary: 'Your account',
    description: 'The signed-in user, the tier and the balance with its breakdown.',
    answers: { 200: { description: 'The account.', schema: AccountRecord } },
    failures: [],
  },
  operator: {
    id: 'claimOperator',
    tag: 'Account',
    summary: 'Claim operator rights',
    description:
      'Makes this account the operator. Needs the one-time setup token that the gateway printed when it first started.',
    body: requestBody('The token.', OperatorClaim, { printed: { token: '$SETUP_TOKEN' } }),
    answers: { 200: { description: 'The account is now the operator.', schema: OperatorClaimed } },
    failures: ['insufficient_permissions', ...JSON_FAILURES],
  },
  limits: {
    id: 'limits',
    tag: 'Account',
    summary: 'Your limits',
    description: 'The tier, its limits per key, and what each key has left in the current minute, in pages.',
    answers: { 200: { description: 'The limits.', schema: LimitsRecord } },
    failures: ['invalid_parameter'],
  },
} as const satisfies Record<string, EndpointDocs>

/** The owner's account, its balance and its limits (spec 2.2, 3, 8). */
export function accountRoutes(parts: {
  owners: OwnerSessions
  credentials: CredentialStore
  ledger: Ledger
  limiter: Limiter
  operator: Operator
  setupToken: Pick<SetupToken, 'use'>
  signUp: SignUp
  members: Pick<MemberStore, 'names'>
  events: Pick<LiveEvents, 'mark'>
  now: () => number
}) {
  const { owners, ledger, operator, setupToken, signUp, members, events } = parts
  return routeGroup({ name: 'account', prefix: '/api' })
    .get(
      '/account',
      ...allowed(
        signedIn(owners, 'member'),
        documented(ACCOUNT_DOCS.account),
        async ({ owner }): Promise<AccountRecord> => {
          const { account, member, email, name, tier, actor } = owner
          // Before the balance: what changes while it is read is after the mark.
          const mark = events.mark(account.id)
          const balance = await ledger.balance(account.id)
          if (!balance) throw new Error(`account ${account.id} has no counters`)
          return {
            id: account.id,
            email,
            name,
            workspace: (await members.names([account.id])).get(account.id) ?? name,
            role: member.role,
            rights: rightsOf(member.role),
            operator: account.operator,
            support: account.support,
            tier: tierOf(tier),
            balance_micros_usd: balance.posted,
            held_micros_usd: balance.held,
            credit_micros_usd: balance.credit,
            signup_credit: await signUp.credit(account.userId),
            topped_up_micros_usd: balance.toppedUp,
            created_at: isoTime(account.createdAt),
            ip: actor.address,
            events_mark: mark,
          }
        },
      ),
    )
    .post(
      '/account/operator',
      ...allowed(
        signedIn(owners, 'workspace:own', SIGNED_IN_TODAY),
        documented(ACCOUNT_DOCS.operator),
        async ({ owner: { account, actor }, context }): Promise<OperatorClaimed> => {
          // Any mistake in the body gets the answer of a wrong token.
          const { token = '' } = validateBody(OperatorClaim, taken(await readJson(context))).form
          if (!setupToken.use(token))
            throw new Failed(
              failure(
                'insufficient_permissions',
                'This token is wrong or was already used. Restart the gateway to get a new one.',
              ),
            )
          return { operator: taken(await operator.appoint(actor, account.id)).operator }
        },
      ),
    )
    .get(
      '/limits',
      ...allowed(
        signedIn(owners, 'keys:read'),
        costing(page, documented(ACCOUNT_DOCS.limits, KEY_ROWS_QUERY)),
        ({ owner, context }): Promise<LimitsRecord> => limitsRecord(owner, queryOf(KEY_ROWS_QUERY, context), parts),
      ),
    )
}

async function limitsRecord(
  { accountId, tier, member }: Owner,
  { limit, cursor, q, key: id }: Parameters<typeof KEY_ROWS_QUERY>,
  { credentials, limiter, now }: { credentials: CredentialStore; limiter: Limiter; now: () => number },
): Promise<LimitsRecord> {
  const limits = limitsOf(tier)
  const query = { among: 'live', sort: 'created', order: 'desc', q, id } as const
  const page = await credentials.lists
    .seenBy(onlyOf(member))
    .page(accountId, query, now(), { limit, after: cursor ?? null })
  if (!page) throw refuseCursor(cursor ?? '')
  const keys = page.rows.map((key) => {
    const { requests, tokens, concurrency } = limiter.read([{ name: key.id, limits: withKeyLimits(limits, key) }])
    return {
      id: key.id,
      name: key.name,
      requests: wireReading(requests),
      tokens: wireReading(tokens),
      concurrency: { limit: concurrency.limit, remaining: concurrency.remaining },
    }
  })
  return { tier: tierOf(tier), limits: wireLimits(limits), keys, next_cursor: page.next }
}

function wireLimits({ rpm, tpm, concurrency }: Limits) {
  return { requests_per_minute: rpm, tokens_per_minute: tpm, concurrency }
}

function wireReading({ limit, remaining, reset }: Reading): ReadingRecord {
  return { limit, remaining, reset }
}
