import { Elysia } from 'elysia'
import type { Identity } from '../../core/accounts/identity'
import type { AuditTrail } from '../../core/audit'
import { formatAddress } from '../../core/credentials/address'
import { failure } from '../../core/failure'
import { makeId } from '../../core/ids'
import { Failed } from '../failures'
import type { FrontDesk } from '../front-desk'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../owner-session'

export interface SignInParts {
  readonly owners: OwnerSessions
  readonly audit: AuditTrail
  /** Whether a forgotten password can be mailed for. */
  readonly sendsMail: boolean
  readonly now: () => number
}

/** `/api/auth/*`: the sign-in library answers, in the one error shape. What it leaves open is judged and recorded here. */
export function signInRoutes(desk: FrontDesk, identity: Identity, { owners, audit, sendsMail, now }: SignInParts) {
  return new Elysia({ name: 'sign-in' }).all(
    '/api/auth/*',
    async ({ request }) => {
      const { address, ids, url } = desk.arrival(request)
      const handle = () => identity.handle(request, { address: formatAddress(address), requestId: ids.own })
      if (request.method !== 'POST') return handle()
      if (url.pathname === '/api/auth/request-password-reset' && !sendsMail)
        throw new Failed(failure('invalid_state', 'This gateway sends no mail. Ask its operator for a link.'))
      if (url.pathname !== '/api/auth/change-password') return handle()
      const { accountId, actor } = await owners.owner(request, SIGNED_IN_JUST_NOW)
      const answer = await handle()
      const at = now()
      if (answer.ok)
        await audit.write({
          ...{ id: makeId('audit', at), at, actor, accountId, keyId: null },
          ...{ action: 'account.password', detail: {} },
        })
      return answer
    },
    { parse: 'none' },
  )
}
