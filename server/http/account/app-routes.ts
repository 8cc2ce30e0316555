import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { AppGrants } from '../../core/accounts/app-grants'
import type { OAuthApp, OAuthGrants } from '../../core/credentials/oauth-grant'
import type { Ledger } from '../../core/ledger/ledger'
import { fromUsdNumber, toUsdNumber } from '../../core/money'
import { notFound, taken } from '../middleware/failures'
import { readable, readBody } from '../middleware/judge-body'
import type { Owner, OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { form, orNull, usd } from '../openapi/json-schema'

interface AppParts {
  readonly owners: OwnerSessions
  readonly grants: OAuthGrants
  readonly apps: AppGrantStore
  readonly appGrants: AppGrants
  readonly ledger: Ledger
  readonly baseUrl: string
  readonly now: () => number
}

const AppLimit = form('The most an app may spend.', {
  spending_limit: orNull(usd('US dollars in all; null is no limit of its own.'), 'no limit'),
})

/** What the dashboard shows of apps: who asks, who was let in, what each spent, and the ways to end it (spec 5.2). */
export function appRoutes(parts: AppParts) {
  const { owners, grants, appGrants, baseUrl, now } = parts
  return routeGroup({ name: 'apps', prefix: '/api/apps' })
    .get(
      '',
      async ({ context }) => {
        const owner = await owners.owner(context)
        const granted = await grants.apps(owner.account.userId, now())
        const shown = await Promise.all(
          granted.map(async (app) => ({
            ...shownApp(app),
            scopes: [...app.scopes],
            ...(await figures(parts, owner, app)),
          })),
        )
        shown.sort((a, b) => (a.name < b.name ? -1 : 1))
        return { apps: shown, mcp_url: `${baseUrl}/mcp` }
      },
      UNDOCUMENTED,
    )
    .get(
      '/:id',
      async ({ context, params }) => {
        const owner = await owners.owner(context)
        const app = await grants.app(params.id)
        if (!app) throw notFound('No such app.')
        return { app: { ...shownApp(app), ...(await figures(parts, owner, app)) } }
      },
      UNDOCUMENTED,
    )
    .post(
      '/:id/limit',
      async ({ context, params }) => {
        const owner = await owners.owner(context)
        const { spending_limit: most } = await readBody(AppLimit, context)
        const limit = most === null ? null : readable(fromUsdNumber(most))
        taken(await appGrants.setLimit(owner.accountId, params.id, limit, owner.actor))
        return { spending_limit: most }
      },
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/:id/disconnect',
      async ({ context, params }) => {
        const owner = await owners.owner(context)
        await appGrants.disconnect(owner.account, params.id, owner.actor)
        return { disconnected: true }
      },
      UNDOCUMENTED,
    )
    .post(
      '/disconnect',
      async ({ context }) => {
        const owner = await owners.owner(context)
        await appGrants.disconnect(owner.account, 'all', owner.actor)
        return { disconnected: true }
      },
      UNDOCUMENTED,
    )
}

function shownApp(app: OAuthApp) {
  return {
    client_id: app.clientId,
    name: app.name,
    /** Ours; what any other app says of itself was checked by nobody. */
    first_party: app.firstParty,
    redirect_hosts: app.redirectHosts,
    registered_at: app.registeredAt === null || app.firstParty ? null : new Date(app.registeredAt).toISOString(),
  }
}

async function figures({ apps, ledger }: AppParts, { accountId }: Owner, { clientId }: OAuthApp) {
  const grant = await apps.live(accountId, clientId)
  const [pool, use] = grant ? await Promise.all([ledger.pool(grant.poolId), apps.lastUse(grant.id)]) : [null, null]
  return {
    connection_id: grant?.id ?? null,
    connected_at: grant ? new Date(grant.createdAt).toISOString() : null,
    last_used_at: use ? new Date(use.at).toISOString() : null,
    last_ip: use?.address ?? null,
    spent_micros_usd: pool?.spent ?? 0,
    spending_limit: !pool || pool.limit === null ? null : toUsdNumber(pool.limit),
  }
}
