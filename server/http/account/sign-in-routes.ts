import type { AppGrants } from '../../core/accounts/app-grants'
import type { Identity } from '../../core/accounts/identity'
import { type AuditTrail, auditEntry } from '../../core/audit'
import { formatAddress } from '../../core/credentials/address'
import { failure } from '../../core/failure'
import { Failed, taken } from '../middleware/failures'
import { withTakenBody } from '../middleware/json-body'
import { type Owner, type OwnerSessions, SIGNED_IN_JUST_NOW } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { keepsApps } from './app-record'

export interface SignInParts {
  readonly owners: OwnerSessions
  readonly appGrants: AppGrants
  readonly audit: AuditTrail
  /** Whether this gateway can send password reset links by email. */
  readonly sendsMail: boolean
  readonly now: () => number
}

/** More than any endpoint of the sign-in library needs. */
const MAX_BODY_BYTES = 64 * 1024
/** The library's own routes to sign out everywhere; the Settings page uses another. */
const SIGN_OUTS: ReadonlySet<string> = new Set(['/api/auth/revoke-sessions', '/api/auth/revoke-other-sessions'])

/** `/api/auth/*`: handled by the sign-in library, with the gateway's error format. Adds the checks and audit entries that it lacks. */
export function signInRoutes(identity: Identity, parts: SignInParts) {
  const { owners, appGrants, sendsMail } = parts
  return routeGroup({ name: 'sign-in' }).all(
    '/api/auth/*',
    async ({ context }) => {
      const { request, address, ids, url, isFromThisMachine } = context
      const caller = {
        address: address.family === 'unknown' ? null : formatAddress(address),
        requestId: ids.own,
        isFromThisMachine,
      }
      const handle = async () => identity.handle(taken(await withTakenBody(context, MAX_BODY_BYTES)), caller)
      if (request.method !== 'POST') return handle()
      if (url.pathname === '/api/auth/request-password-reset' && !sendsMail)
        throw new Failed(
          failure('invalid_state', 'This gateway does not send email. Ask its operator for a reset link.'),
        )
      if (SIGN_OUTS.has(url.pathname)) {
        const { account, actor } = await owners.owner(context)
        const answer = await handle()
        if (answer.ok && !keepsApps(url)) await appGrants.disconnect(account, 'all', actor, 'sign_out_everywhere')
        return answer
      }
      if (url.pathname !== '/api/auth/change-password') return handle()
      const owner = await owners.owner(context, SIGNED_IN_JUST_NOW)
      const answer = await handle()
      if (answer.ok) await passwordChanged(parts, owner, keepsApps(url))
      return answer
    },
    { parse: 'none' },
  )
}

async function passwordChanged({ appGrants, audit, now }: SignInParts, owner: Owner, keeps: boolean): Promise<void> {
  const { account, accountId, actor } = owner
  if (!keeps) await appGrants.disconnect(account, 'all', actor, 'new_password')
  await audit.write(auditEntry({ at: now(), actor, accountId, action: 'account.password' }))
}
