import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { AppGrants } from '../../core/accounts/app-grants'
import { keysOfApps } from '../../core/credentials/key-lists'
import type { OAuthGrants } from '../../core/credentials/oauth-grant'
import type { CredentialStore } from '../../core/credentials/store'
import type { Ledger } from '../../core/ledger/ledger'
import { fromUsdNumber } from '../../core/money'
import type { Owner, OwnerSessions } from '../middleware/caller/owner-session'
import { readable, readBody } from '../middleware/input/validate-body'
import { routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id, signedIn } from '../routing/api-access'
import {
  AppLimit,
  appRecord,
  type ConnectedApps,
  connectedApp,
  type Disconnected,
  keptKeys,
  type OneApp,
} from './app-record'

function grantingOf({ accountId, member }: Owner) {
  return { accountId, userId: member.userId }
}

interface AppParts {
  readonly owners: OwnerSessions
  readonly grants: OAuthGrants
  readonly apps: AppGrantStore
  readonly appGrants: AppGrants
  readonly credentials: Pick<CredentialStore, 'lists'>
  readonly ledger: Ledger
  readonly baseUrl: string
  readonly now: () => number
}

/** For the dashboard: the apps that request access, the connected ones and what they spent, and how to limit or disconnect them (spec 5.2). */
export function appRoutes(parts: AppParts) {
  const { owners, grants, appGrants, credentials, baseUrl, now } = parts
  return routeGroup({ name: 'apps', prefix: '/api/apps' })
    .get(
      '',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner }): Promise<ConnectedApps> => {
        const granted = await grants.apps(owner.member.userId, now())
        const keys = await keysOfApps(credentials.lists, owner.accountId, now())
        const connected = await Promise.all(granted.map((app) => connectedApp(app, grantingOf(owner), keys, parts)))
        connected.sort((a, b) => (a.name < b.name ? -1 : 1))
        return { apps: connected, mcp_url: `${baseUrl}/mcp` }
      }),
    )
    .get(
      '/:id',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner }, { id }: Id): Promise<OneApp> => {
        const app = await grants.app(id)
        if (!app) throw notFound('This app does not exist or is no longer connected.')
        return { app: await appRecord(app, grantingOf(owner), parts) }
      }),
    )
    .post(
      '/:id/limit',
      ...allowed(
        signedIn(owners, 'calls:make'),
        UNDOCUMENTED,
        async ({ owner, context }, { id }: Id): Promise<AppLimit> => {
          const { spending_limit: usd } = await readBody(AppLimit, context)
          const limit = usd === null ? null : readable(fromUsdNumber(usd))
          taken(await appGrants.setLimit(owner, id, limit))
          return { spending_limit: usd }
        },
      ),
    )
    .post(
      '/:id/disconnect',
      ...allowed(
        signedIn(owners, 'member'),
        UNDOCUMENTED,
        async ({ owner, context }, { id }: Id): Promise<Disconnected> => {
          await appGrants.disconnect(owner.member.userId, id, owner.actor, { keptKeys: keptKeys(context.url) })
          return { disconnected: true }
        },
      ),
    )
    .post(
      '/disconnect',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner, context }): Promise<Disconnected> => {
        await appGrants.disconnect(owner.member.userId, 'all', owner.actor, { keptKeys: keptKeys(context.url) })
        return { disconnected: true }
      }),
    )
}
