import { type ApiKey, keyState } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import { failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import { type Approvals, CONFIRM_MS } from '../../core/social/approvals'
import type { Linking, StartedLink } from '../../core/social/linking'
import { OFFLINE_ACCESS } from '../../core/social/scopes'
import { type LinkAttempt, type SocialSession, sessionState } from '../../core/social/session'
import type { SocialStore } from '../../core/social/store'
import type { SocialParts } from '../../pipeline/social/social-actions'

/** Everything about linked accounts that routes need; null where no network is set up. */
export interface Social extends SocialParts {
  readonly linking: Linking
  readonly approvals: Approvals
  /** Whether browsers reach this gateway over https only. */
  readonly overHttps: boolean
  readonly store: SocialStore
}

export const NO_NETWORK = failure('upstream_unavailable', 'No social network is set up on this gateway.')

/** A link that was started, as its caller sees it. The state is in no other answer. */
export function linkAnswer({ link, state, authUrl }: StartedLink) {
  return {
    auth_url: authUrl,
    state,
    expires_at: new Date(link.expiresAt).toISOString(),
    scopes: [...link.scopes, OFFLINE_ACCESS],
  }
}

/** One key with its account and its last try to link one. It holds no token, sealed or not. */
export function socialRecord(key: ApiKey, session: SocialSession | null, link: LinkAttempt | null, now: number) {
  const { id, name, prefix, last4 } = key
  return {
    key: { id, name, prefix, last4 },
    state: session ? sessionState(session, now) : ('none' as const),
    network: session?.network ?? null,
    account: session && { id: session.user.id, username: session.user.username, name: session.user.name },
    scopes: session?.scopes ?? [],
    missing_scope: session?.missingScope ?? null,
    linked_at: session && new Date(session.linkedAt).toISOString(),
    refreshed_at: session?.refreshedAt ? new Date(session.refreshedAt).toISOString() : null,
    link: link && linkRecord(link, session, now),
  }
}

/** Null for a link that succeeded, or that was over before the account was linked. */
function linkRecord(link: LinkAttempt, session: SocialSession | null, now: number) {
  const { id, scopes, expiresAt, createdAt, outcome, usedAt } = link
  if (outcome === 'linked' || (session && session.linkedAt > createdAt)) return null
  // After the approval at the network it waits for the button of the callback page.
  const open = now < (usedAt === null ? expiresAt : usedAt + CONFIRM_MS)
  return {
    id,
    state: outcome ?? (open ? ('waiting' as const) : usedAt === null ? ('expired' as const) : ('failed' as const)),
    scopes: [...scopes],
    expires_at: new Date(expiresAt).toISOString(),
  }
}

/** One record for each spend pool of the account, under its newest key that still works. */
export async function socialRecords(
  social: Pick<Social, 'store' | 'network'>,
  credentials: CredentialStore,
  account: AccountId,
  now: number,
) {
  const [keys, all, links] = await Promise.all([
    credentials.byAccount(account),
    social.store.sessionsOf(account),
    social.store.newestLinks(account),
  ])
  // What was linked at a network that this gateway no longer works with cannot act.
  const sessions = all.filter(({ network }) => network === social.network.name)
  const shown = new Map<string, ApiKey>()
  for (const key of keys) if (keyState(key, now) !== 'revoked' && !shown.has(key.poolId)) shown.set(key.poolId, key)
  // The account of keys that were all revoked must not get out of sight: it can still be withdrawn.
  for (const { poolId } of sessions) {
    const newest = keys.find((key) => key.poolId === poolId)
    if (newest && !shown.has(poolId)) shown.set(poolId, newest)
  }
  return [...shown.values()].map((key) =>
    socialRecord(
      key,
      sessions.find(({ poolId }) => poolId === key.poolId) ?? null,
      links.find(({ poolId }) => poolId === key.poolId) ?? null,
      now,
    ),
  )
}
