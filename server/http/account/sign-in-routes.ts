import type { AppsEnd } from '../../core/accounts/app-grants'
import type { Identity } from '../../core/accounts/identity'
import type { SecurityChange } from '../../core/accounts/mails/owner-mails'
import { type AuditTrail, auditEntry } from '../../core/audit'
import { formatAddress } from '../../core/credentials/address'
import type { OAuthGrants, TokenHolder } from '../../core/credentials/oauth-grant'
import { failure } from '../../core/failure'
import { parsedJson } from '../../core/json'
import {
  type OwnerSessions,
  SIGNED_IN_AT_ANY_TIME,
  SIGNED_IN_JUST_NOW,
  type SignedInUser,
} from '../middleware/caller/owner-session'
import { withTakenBody } from '../middleware/input/json-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { Failed, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { ANYBODY, allowed } from '../routing/api-access'
import { keepsApps } from './app-record'

/** What becomes of the apps of users, whose accounts may be in another cell. */
interface UsersOfApps {
  disconnectApps(userId: string, address: string | null, because: AppsEnd): Promise<void>
  appLeft(holder: TokenHolder): Promise<void>
}

export interface SignInParts {
  readonly owners: OwnerSessions
  readonly users: UsersOfApps
  readonly audit: AuditTrail
  /** Whether this gateway can send password reset links by email. */
  readonly sendsMail: boolean
  /** Whether browsers allow passkeys at the gateway's address. */
  readonly passkeysOffered: boolean
  readonly identity: Identity
  /** Mails the owner about a change of how they sign in. */
  readonly tellSecurity: (email: string, change: SecurityChange) => void
  readonly grants: OAuthGrants
  readonly now: () => number
}

/** More than any endpoint of the sign-in library needs. */
const MAX_BODY_BYTES = 64 * 1024
/** The library's own routes to sign out everywhere; the Settings page uses another. */
const SIGN_OUTS: ReadonlySet<string> = new Set(['/api/auth/revoke-sessions', '/api/auth/revoke-other-sessions'])

/** Routes that change how the owner signs in. */
const SECURITY_CHANGES: Readonly<Record<string, SecurityChange | 'second_factor_begun'>> = {
  '/api/auth/two-factor/enable': 'second_factor_begun',
  '/api/auth/two-factor/disable': 'second_factor_off',
  '/api/auth/two-factor/generate-backup-codes': 'recovery_codes',
  '/api/auth/passkey/verify-registration': 'passkey_added',
  '/api/auth/passkey/delete-passkey': 'passkey_removed',
}
/** Allowed to who must have a second factor and has none. */
const SETS_UP: ReadonlySet<string> = new Set(['/api/auth/two-factor/enable', '/api/auth/passkey/verify-registration'])

/** Where an owner gives an app access to the account. */
const GRANTS: ReadonlySet<string> = new Set(['/api/auth/oauth2/consent', '/api/auth/device/approve'])

/**
 * `/api/auth/*`: handled by the sign-in library, which decides who may call which path, with the gateway's error format. Adds the checks
 * and audit entries that it lacks.
 */
export function signInRoutes(identity: Identity, parts: SignInParts) {
  const { owners, users, sendsMail, passkeysOffered } = parts
  return routeGroup({ name: 'sign-in' }).all(
    '/api/auth/*',
    ...allowed(ANYBODY, UNDOCUMENTED, async ({ context }) => {
      const { request, address, ids, url, isFromThisMachine } = context
      const caller = {
        address: address.family === 'unknown' ? null : formatAddress(address),
        requestId: ids.own,
        isFromThisMachine,
      }
      const handle = async () => identity.handle(taken(await withTakenBody(context, MAX_BODY_BYTES)), caller)
      if (url.pathname.startsWith('/api/auth/passkey/') && !passkeysOffered)
        throw new Failed(
          failure('invalid_state', 'This gateway has no passkeys: its BASE_URL must be https with a host name.'),
        )
      if (url.pathname === '/api/auth/passkey/generate-register-options')
        await owners.user(context, SIGNED_IN_JUST_NOW, true)
      if (request.method !== 'POST') return handle()
      if (url.pathname === '/api/auth/request-password-reset' && !sendsMail)
        throw new Failed(
          failure('invalid_state', 'This gateway does not send email. Ask its operator for a reset link.'),
        )
      if (SIGN_OUTS.has(url.pathname)) {
        const { userId, accountId, actor } = await owners.user(context)
        const answer = await handle()
        if (answer.ok) {
          const detail = { sessions: url.pathname === '/api/auth/revoke-sessions' ? 'all' : 'others' }
          await parts.audit.write(auditEntry({ at: parts.now(), actor, accountId, action: 'session.end', detail }))
        }
        if (answer.ok && !keepsApps(url)) await users.disconnectApps(userId, actor.address, 'sign_out_everywhere')
        return answer
      }
      if (url.pathname === '/api/auth/oauth2/revoke')
        return givenBack(parts, context, (sent) => identity.handle(sent, caller))
      if (GRANTS.has(url.pathname)) return grant(parts, context, (sent) => identity.handle(sent, caller))
      const change = SECURITY_CHANGES[url.pathname]
      if (change) {
        const owner = await owners.user(context, SIGNED_IN_JUST_NOW, SETS_UP.has(url.pathname))
        const answer = await handle()
        if (answer.ok) await securityChanged(parts, owner, change)
        return answer
      }
      if (url.pathname === '/api/auth/two-factor/verify-totp' && (await owners.isSignedIn(context)))
        return setUp(parts, context, handle)
      if (url.pathname !== '/api/auth/change-password') return handle()
      const owner = await owners.user(context, SIGNED_IN_JUST_NOW)
      const answer = await handle()
      if (answer.ok) await passwordChanged(parts, owner, keepsApps(url))
      return answer
    }),
  )
}

/** Access for an app can make keys, so it needs the second factor as they do. Whoever may not give it may still decline. */
async function grant(
  { owners }: SignInParts,
  context: RequestContext,
  handle: (request: Request) => Promise<Response>,
): Promise<Response> {
  const sent = taken(await withTakenBody(context, MAX_BODY_BYTES))
  const isDeclined = Reflect.get(Object(parsedJson(await sent.clone().text())), 'accept') === false
  await owners.user(context, isDeclined ? undefined : SIGNED_IN_AT_ANY_TIME)
  return handle(sent)
}

/** An app that revokes its last token keeps its limit for when it comes back, but receives no more events. */
async function givenBack(
  { grants, users, now }: SignInParts,
  context: RequestContext,
  handle: (request: Request) => Promise<Response>,
): Promise<Response> {
  const sent = taken(await withTakenBody(context, MAX_BODY_BYTES))
  const holder = await grants.holder(new URLSearchParams(await sent.clone().text()).get('token') ?? '')
  const answer = await handle(sent)
  if (!answer.ok || !holder) return answer
  const left = await grants.apps(holder.userId, now())
  if (!left.some(({ clientId }) => clientId === holder.clientId)) await users.appLeft(holder)
  return answer
}

/** The first code of an authenticator app, from a session: from here on it is the second factor. */
async function setUp(parts: SignInParts, context: RequestContext, handle: () => Promise<Response>): Promise<Response> {
  const owner = await parts.owners.user(context)
  const before = await parts.identity.secondFactors(owner.userId)
  const answer = await handle()
  if (answer.ok && !before.app) await securityChanged(parts, owner, 'second_factor_on')
  return answer
}

async function securityChanged(
  { audit, tellSecurity, now }: SignInParts,
  { accountId, actor, email }: SignedInUser,
  change: SecurityChange | 'second_factor_begun',
): Promise<void> {
  if (change === 'second_factor_begun') return
  await audit.write(auditEntry({ at: now(), actor, accountId, action: `account.${change}` }))
  tellSecurity(email, change)
}

async function passwordChanged({ users, audit, now }: SignInParts, owner: SignedInUser, keeps: boolean): Promise<void> {
  const { userId, accountId, actor } = owner
  if (!keeps) await users.disconnectApps(userId, actor.address, 'new_password')
  await audit.write(auditEntry({ at: now(), actor, accountId, action: 'account.password' }))
}
