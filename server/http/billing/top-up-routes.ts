import type { Elysia } from 'elysia'
import type { Identity } from '../../core/accounts/identity'
import type { TopUps } from '../../core/accounts/top-ups'
import { failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { ClaimStore } from '../../core/payments/claim'
import { appDocs } from '../account/app-docs'
import { callingApp } from '../middleware/caller/calling-app'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { Failed } from '../middleware/response/failures'
import { documented, type Hook } from '../openapi/documented'
import { allowed, appsAccess, type MirroredAccess, ownersAccess } from '../routing/api-access'
import { freeEndpoint } from '../routing/endpoint'
import { APP_TOP_UP_DOCS, BILLING_DOCS } from './docs'
import { type StartedTopUp, type TopUpPage, topUpRecord } from './record'
import { readTopUp, type TopUpPages, topUpMethods } from './top-up-form'

interface TopUpParts extends TopUpPages {
  readonly owners: OwnerSessions
  readonly identity: Identity
  readonly claims: ClaimStore
  readonly topUps: TopUps
}

type Payee = { readonly accountId: AccountId; readonly email: string }

const SCOPE = 'wallet:topup'
const APP_TOP_UPS = freeEndpoint('topups', SCOPE, { appsOnly: true })

/** Top-ups by the signed-in owner, and by apps with `wallet:topup`, which a person then pays (spec D10). */
export function topUpRoutes(parts: TopUpParts) {
  return routeGroup({ name: 'top-ups' })
    .use(appTopUps(parts))
    .use(
      topUpsUnder('/api/topups', parts, ownersAccess(parts.owners, 'money'), {
        topUp: documented(BILLING_DOCS.topUp),
        topUps: documented(BILLING_DOCS.topUps, PAGE_QUERY),
      }),
    )
}

/** Untyped for clients: only the dashboard derives its types from the routes, and it does not call these. */
function appTopUps(parts: TopUpParts): Elysia {
  const apps = appsAccess(APP_TOP_UPS, (context) => payeeOf(context, parts.identity))
  const routes = routeGroup({ name: 'app-topups' }).use(
    topUpsUnder('/v1/topups', parts, apps, {
      topUp: documented(appDocs(APP_TOP_UP_DOCS.topUp, SCOPE)),
      topUps: documented(appDocs(APP_TOP_UP_DOCS.topUps, SCOPE), PAGE_QUERY),
    }),
  )
  return routes as unknown as Elysia
}

function topUpsUnder<P extends string>(
  prefix: P,
  parts: TopUpParts,
  owners: MirroredAccess<Payee>,
  docs: Record<'topUp' | 'topUps', Hook>,
) {
  const { claims, topUps, cards } = parts
  const methods = topUpMethods(parts)
  return routeGroup({ name: `top-ups under ${prefix}`, prefix })
    .post(
      '',
      ...allowed(owners.write, docs.topUp, async ({ owner, context, set }): Promise<StartedTopUp> => {
        const { accountId, email } = owner
        const { amount, method } = await readTopUp(context, methods)
        const { own: id } = context.ids
        set.status = 201
        if (method === 'card' && cards) {
          const { claim, url } = await cards.topUps.open(accountId, email, amount, id)
          return { topup: topUpRecord(claim), url }
        }
        const claim = await topUps.payInSandbox(accountId, amount, id)
        if (!claim)
          throw new Failed(
            failure('service_unavailable', 'The top-up could not be saved. You were not charged. Try again.', {
              retryAfterSeconds: 1,
            }),
          )
        return { topup: topUpRecord(claim), url: null }
      }),
    )
    .get(
      '',
      ...allowed(owners.read, docs.topUps, async ({ accountId, context }): Promise<TopUpPage> => {
        const { limit, cursor } = queryOf(PAGE_QUERY, context)
        const found = await claims.list({ account: accountId, purpose: 'top_up', state: null }, limit, cursor ?? null)
        if (!found) throw refuseCursor(cursor ?? '')
        return { topups: found.rows.map(topUpRecord), topup_methods: methods, next_cursor: found.next }
      }),
    )
}

async function payeeOf(context: RequestContext, identity: Identity): Promise<Payee> {
  const { account } = callingApp(
    context,
    'API keys cannot open payment pages. Use an access token with wallet:topup, the dashboard, or POST /v1/wallet/topups.',
  )
  const { id, userId } = account
  const owner = await identity.user(userId)
  if (!owner) throw new Error(`account ${id} has no owner`)
  return { accountId: id, email: owner.email }
}
