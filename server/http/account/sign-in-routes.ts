import type { AppGrants, AppsEnd } from '../../core/accounts/app-grants'
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
import { ANYBODY, allowed, signedIn, signedInUser } from '../routing/api-access'
import { keepsApps, keptKeys } from './app-record'

/** Ends the access of apps to the accounts of users. */
interface UsersOfApps {
  disconnectApps(userId: string, address: string | null, because: AppsEnd, keptKeys?: readonly string[]): Promise<void>
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
  readonly appGrants: Pick<AppGrants, 'connect'>
  readonly now: () => number
}

/** More than any endpoint of the sign-in library needs. */
const MAX_BODY_BYTES = 64 * 1024

/** A change of how the owner signs in. `isSettingUp`: also for who must have a second factor and has none. */
interface Change {
  readonly change: SecurityChange | 'second_factor_begun'
  readonly isSettingUp?: true
}
const SECOND_FACTOR_CHANGES: Readonly<Record<string, Change>> = {
  '/api/auth/two-factor/enable': { change: 'second_factor_begun', isSettingUp: true },
  '/api/auth/two-factor/disable': { change: 'second_factor_off' },
  '/api/auth/two-factor/generate-backup-codes': { change: 'recovery_codes' },
}
const PASSKEY_CHANGES: Readonly<Record<string, Change>> = {
  '/api/auth/passkey/verify-registration': { change: 'passkey_added', isSettingUp: true },
  '/api/auth/passkey/delete-passkey': { change: 'passkey_removed' },
}

/**
 * `/api/auth/*`: handled by the sign-in library, which knows who may call what, with the gateway's error format. A path has a route of its
 * own here where the library lacks checks or audit entries.
 */
export function signInRoutes(parts: SignInParts) {
  const { owners, passkeysOffered } = parts
  const routes = routeGroup({ name: 'sign-in' })
    .all('/api/auth/*', ...allowed(ANYBODY, UNDOCUMENTED, ({ context }) => byLibrary(parts, context)))
    .post('/api/auth/oauth2/revoke', ...allowed(ANYBODY, UNDOCUMENTED, ({ context }) => givenBack(parts, context)))
    .post('/api/auth/oauth2/consent', ...consent(parts))
    .post('/api/auth/device/approve', ...deviceApproval(parts))
    .post('/api/auth/revoke-sessions', ...signOut(parts, 'all'))
    .post('/api/auth/revoke-other-sessions', ...signOut(parts, 'others'))
    .post(
      '/api/auth/change-password',
      ...allowed(signedInUser(owners, SIGNED_IN_JUST_NOW), UNDOCUMENTED, async ({ user, context }) => {
        const answer = await handled(parts, context)
        if (answer.ok) await passwordChanged(parts, user, context.url)
        return answer
      }),
    )
  // An identity that is linked signs in from then on.
  routes.post(
    '/api/auth/link-social',
    ...allowed(signedInUser(owners, SIGNED_IN_JUST_NOW), UNDOCUMENTED, ({ context }) => handled(parts, context)),
  )
  const changes = { ...SECOND_FACTOR_CHANGES, ...(passkeysOffered && PASSKEY_CHANGES) }
  for (const [path, change] of Object.entries(changes)) routes.post(path, ...securityChange(parts, change))
  if (passkeysOffered)
    routes.all(
      '/api/auth/passkey/generate-register-options',
      ...allowed(signedInUser(owners, SIGNED_IN_JUST_NOW, true), UNDOCUMENTED, ({ context }) =>
        handled(parts, context),
      ),
    )
  return routes
}

async function byLibrary(parts: SignInParts, context: RequestContext): Promise<Response> {
  const { pathname } = context.url
  const isPost = context.request.method === 'POST'
  if (pathname.startsWith('/api/auth/passkey/') && !parts.passkeysOffered)
    throw new Failed(
      failure('invalid_state', 'This gateway has no passkeys: its BASE_URL must be https with a host name.'),
    )
  if (isPost && pathname === '/api/auth/request-password-reset' && !parts.sendsMail)
    throw new Failed(failure('invalid_state', 'This gateway does not send email. Ask its operator for a reset link.'))
  if (isPost && pathname === '/api/auth/two-factor/verify-totp' && (await parts.owners.isSignedIn(context)))
    return setUp(parts, context)
  return handled(parts, context)
}

/** The library's response. `sent`: the request, if its body was read. */
async function handled({ identity }: SignInParts, context: RequestContext, sent?: Request): Promise<Response> {
  const { address, ids, isFromThisMachine } = context
  return identity.handle(sent ?? (await taking(context)), {
    address: address.family === 'unknown' ? null : formatAddress(address),
    requestId: ids.own,
    isFromThisMachine,
  })
}

async function taking(context: RequestContext): Promise<Request> {
  return taken(await withTakenBody(context, MAX_BODY_BYTES))
}

/** The library's own routes to sign out everywhere; the Settings page uses another. */
function signOut(parts: SignInParts, sessions: 'all' | 'others') {
  return allowed(signedInUser(parts.owners), UNDOCUMENTED, async ({ user, context }) => {
    const { userId, accountId, actor } = user
    const answer = await handled(parts, context)
    if (!answer.ok) return answer
    const entry = { at: parts.now(), actor, accountId, action: 'session.end', detail: { sessions } } as const
    await parts.audit.write(auditEntry(entry))
    if (!keepsApps(context.url)) await parts.users.disconnectApps(userId, actor.address, 'sign_out_everywhere')
    return answer
  })
}

/**
 * Access for an app can make keys, so it needs the second factor as they do. Declining needs none. The app then calls for the workspace that the
 * session shows.
 */
function consent(parts: SignInParts) {
  return allowed(signedInUser(parts.owners), UNDOCUMENTED, async ({ context }) => {
    const sent = await taking(context)
    const { accept, oauth_query: query } = Object(parsedJson(await sent.clone().text()))
    if (accept === false) return handled(parts, context, sent)
    const owner = await parts.owners.owner(context, 'calls:make', SIGNED_IN_AT_ANY_TIME)
    const answer = await handled(parts, context, sent)
    const clientId = new URLSearchParams(typeof query === 'string' ? query : '').get('client_id')
    if (answer.ok && clientId !== null) await parts.appGrants.connect(owner, clientId)
    return answer
  })
}

/** The same for a device, which is declined at another path: here the library approves, whatever else the body says. */
function deviceApproval(parts: SignInParts) {
  const access = signedIn(parts.owners, 'calls:make', SIGNED_IN_AT_ANY_TIME)
  return allowed(access, UNDOCUMENTED, async ({ owner, context }) => {
    const sent = await taking(context)
    const { userCode } = Object(parsedJson(await sent.clone().text()))
    const { headers } = sent
    const answer = await handled(parts, context, sent)
    if (!answer.ok) return answer
    // Only now: a look at the code binds it to the user, which must be the user's own act.
    const approved = new URL(`/api/auth/device?user_code=${encodeURIComponent(String(userCode))}`, context.url)
    const shown = await handled(parts, context, new Request(approved, { headers }))
    const { client_id: clientId } = Object(parsedJson(await shown.text()))
    if (typeof clientId === 'string') await parts.appGrants.connect(owner, clientId)
    return answer
  })
}

/** An app that revokes its last token keeps its limit for when it comes back, but receives no more events. */
async function givenBack(parts: SignInParts, context: RequestContext): Promise<Response> {
  const { grants, users, now } = parts
  const sent = await taking(context)
  const holder = await grants.holder(new URLSearchParams(await sent.clone().text()).get('token') ?? '')
  const answer = await handled(parts, context, sent)
  // A token that is unknown or already revoked is revoked (RFC 7009 2.2). The library authenticates the client first.
  if (!holder && answer.status === 400 && /"token not found"/.test(await answer.clone().text()))
    return new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } })
  if (!answer.ok || !holder) return answer
  const left = await grants.apps(holder.userId, now())
  if (!left.some(({ clientId }) => clientId === holder.clientId)) await users.appLeft(holder)
  return answer
}

/** The first code of an authenticator app, from a session: from here on it is the second factor. */
async function setUp(parts: SignInParts, context: RequestContext): Promise<Response> {
  const owner = await parts.owners.user(context)
  const before = await parts.identity.secondFactors(owner.userId)
  const answer = await handled(parts, context)
  if (answer.ok && !before.app) await securityChanged(parts, owner, 'second_factor_on')
  return answer
}

function securityChange(parts: SignInParts, { change, isSettingUp }: Change) {
  const access = signedInUser(parts.owners, SIGNED_IN_JUST_NOW, isSettingUp)
  return allowed(access, UNDOCUMENTED, async ({ user, context }) => {
    const answer = await handled(parts, context)
    if (answer.ok) await securityChanged(parts, user, change)
    return answer
  })
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

async function passwordChanged({ users, audit, now }: SignInParts, owner: SignedInUser, url: URL): Promise<void> {
  const { userId, accountId, actor } = owner
  if (!keepsApps(url)) await users.disconnectApps(userId, actor.address, 'new_password', keptKeys(url))
  await audit.write(auditEntry({ at: now(), actor, accountId, action: 'account.password' }))
}
