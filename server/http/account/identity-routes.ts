import type { Identity } from '../../core/accounts/identity'
import type { SecurityChange } from '../../core/accounts/mails/owner-mails'
import type { SignInProvider } from '../../core/accounts/sign-in-provider'
import { type AuditTrail, auditEntry } from '../../core/audit'
import { failure } from '../../core/failure'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../middleware/caller/owner-session'
import { routeGroup } from '../middleware/request-context'
import { Failed, notFound } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { ANYBODY, allowed, type Id, signedInUser } from '../routing/api-access'
import { type IdentityList, identityList, type ProviderList } from './identity-record'

const LAST = failure(
  'invalid_state',
  'This is the only way to sign in to your account. Set a password or link another identity first.',
)

/** The identities of providers that sign a user in. They are linked by `POST /api/auth/link-social`. */
export function identityRoutes(parts: {
  readonly owners: OwnerSessions
  readonly identity: Pick<Identity, 'identities' | 'unlinkIdentity'>
  readonly signInProviders: readonly SignInProvider[]
  readonly audit: Pick<AuditTrail, 'write'>
  /** Mails the owner about a change of how they sign in. */
  readonly tellSecurity: (email: string, change: SecurityChange) => void
  readonly now: () => number
}) {
  const { owners, identity, audit, tellSecurity, now } = parts
  const providers = parts.signInProviders.map(({ id, name }) => ({ id, name }))
  const of = async (userId: string) => identityList(await identity.identities(userId), providers)
  return routeGroup({ name: 'identities', prefix: '/api/identities' })
    .get('/providers', ...allowed(ANYBODY, UNDOCUMENTED, (): ProviderList => ({ providers })))
    .get('', ...allowed(signedInUser(owners), UNDOCUMENTED, ({ user }): Promise<IdentityList> => of(user.userId)))
    .post(
      '/:id/unlink',
      ...allowed(
        signedInUser(owners, SIGNED_IN_JUST_NOW),
        UNDOCUMENTED,
        async ({ user }, { id }: Id): Promise<IdentityList> => {
          const { userId, accountId, actor, email } = user
          const outcome = await identity.unlinkIdentity(userId, id)
          if (outcome === 'unknown') throw notFound('This identity is not linked to your account.')
          if (outcome === 'last') throw new Failed(LAST)
          await audit.write(auditEntry({ at: now(), actor, accountId, action: 'account.identity_unlinked' }))
          tellSecurity(email, 'identity_unlinked')
          return of(userId)
        },
      ),
    )
}
