import type { AppGrants } from '../../core/accounts/app-grants'
import type { Identity } from '../../core/accounts/identity'
import { type AuditTrail, auditEntry } from '../../core/audit'
import type { Owner, OwnerSessions } from '../middleware/caller/owner-session'
import { routeGroup } from '../middleware/request-context'
import { notFound } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id, signedIn } from '../routing/api-access'
import { keepsApps, keptKeys } from './app-record'
import { type EndedElsewhere, type EndedSessions, type SessionList, sessionRecord } from './settings-record'

/** Where the owner is signed in, and signing out there. */
export function sessionRoutes(parts: {
  readonly owners: OwnerSessions
  readonly identity: Identity
  readonly appGrants: AppGrants
  readonly audit: Pick<AuditTrail, 'write'>
  readonly now: () => number
}) {
  const { owners, identity, appGrants, audit, now } = parts
  const note = ({ accountId, actor }: Owner, detail: Record<string, unknown>) =>
    audit.write(auditEntry({ at: now(), actor, accountId, action: 'session.end', detail }))
  return routeGroup({ name: 'sessions', prefix: '/api/settings/sessions' })
    .get(
      '',
      ...allowed(
        signedIn(owners, 'member'),
        UNDOCUMENTED,
        async ({ owner: { actor, sessionId } }): Promise<SessionList> => {
          return { sessions: (await identity.sessions(actor.id)).map((line) => sessionRecord(line, sessionId)) }
        },
      ),
    )
    .post(
      '/end-others',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner, context }): Promise<EndedElsewhere> => {
        const { actor, sessionId } = owner
        const ended = await identity.endSessions(actor.id, { allBut: sessionId })
        await note(owner, { sessions: 'others', ended })
        if (keepsApps(context.url)) return { ended, apps_disconnected: 0 }
        const ending = { because: 'sign_out_everywhere', keptKeys: keptKeys(context.url) } as const
        return { ended, apps_disconnected: await appGrants.disconnect(actor.id, 'all', actor, ending) }
      }),
    )
    .post(
      '/end-all',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner }): Promise<EndedElsewhere> => {
        const { actor } = owner
        const ended = await identity.endSessions(actor.id, { all: true })
        await note(owner, { sessions: 'all', ended })
        const apps = await appGrants.disconnect(actor.id, 'all', actor, { because: 'sign_out_everywhere' })
        return { ended, apps_disconnected: apps }
      }),
    )
    .post(
      '/:id/end',
      ...allowed(signedIn(owners, 'member'), UNDOCUMENTED, async ({ owner }, { id }: Id): Promise<EndedSessions> => {
        const ended = await identity.endSessions(owner.actor.id, { only: id })
        if (ended === 0) throw notFound('This session has already ended.')
        await note(owner, { sessions: 'one', ended })
        return { ended }
      }),
    )
}
