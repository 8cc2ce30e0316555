import type { AppGrants } from '../../core/accounts/app-grants'
import type { Identity } from '../../core/accounts/identity'
import { notFound } from '../middleware/failures'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { keepsApps } from './app-record'
import { type EndedElsewhere, type EndedSessions, type SessionList, sessionRecord } from './settings-record'

/** Where the owner is signed in, and signing out there. */
export function sessionRoutes(parts: {
  readonly owners: OwnerSessions
  readonly identity: Identity
  readonly appGrants: AppGrants
}) {
  const { owners, identity, appGrants } = parts
  return routeGroup({ name: 'sessions', prefix: '/api/settings/sessions' })
    .get(
      '',
      async ({ context }): Promise<SessionList> => {
        const { actor, sessionId } = await owners.owner(context)
        return { sessions: (await identity.sessions(actor.id)).map((line) => sessionRecord(line, sessionId)) }
      },
      UNDOCUMENTED,
    )
    .post(
      '/end-others',
      async ({ context }): Promise<EndedElsewhere> => {
        const { account, actor, sessionId } = await owners.owner(context)
        const ended = await identity.endSessions(actor.id, { allBut: sessionId })
        if (keepsApps(context.url)) return { ended, apps_disconnected: 0 }
        const apps = await appGrants.disconnect(account, 'all', actor, 'sign_out_everywhere')
        return { ended, apps_disconnected: apps }
      },
      UNDOCUMENTED,
    )
    .post(
      '/end-all',
      async ({ context }): Promise<EndedElsewhere> => {
        const { account, actor } = await owners.owner(context)
        const ended = await identity.endSessions(actor.id, { all: true })
        return { ended, apps_disconnected: await appGrants.disconnect(account, 'all', actor, 'sign_out_everywhere') }
      },
      UNDOCUMENTED,
    )
    .post(
      '/:id/end',
      async ({ context, params }): Promise<EndedSessions> => {
        const { actor } = await owners.owner(context)
        const ended = await identity.endSessions(actor.id, { only: params.id })
        if (ended === 0) throw notFound('This session has already ended.')
        return { ended }
      },
      UNDOCUMENTED,
    )
}
