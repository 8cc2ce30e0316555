import type { Static } from '@sinclair/typebox'
import type { KeyOwner } from '../../core/accounts/keys'
import { onlyOf } from '../../core/accounts/roles'
import type { Parameters } from '../../core/catalog/parameters'
import { isoTime } from '../../core/clock'
import type { KeyLabel } from '../../core/credentials/key-lists'
import type { CredentialStore } from '../../core/credentials/store'
import { failure } from '../../core/failure'
import { jsonText } from '../../core/json'
import { type Approvals, CONFIRM_MS } from '../../core/social/approvals'
import type { Linking, StartedLink } from '../../core/social/linking'
import {
  isSocialScope,
  OFFLINE_ACCESS,
  SCOPE_MEANINGS,
  SOCIAL_SCOPES,
  type SocialScope,
} from '../../core/social/scopes'
import { type LinkAttempt, type SocialSession, sessionState } from '../../core/social/session'
import type { SocialStore } from '../../core/social/store'
import type { SocialParts } from '../../pipeline/social/social-actions'
import { type KEY_ROWS_QUERY, keyRowsPage } from '../middleware/input/list-query'
import {
  checked,
  form,
  instant,
  listOf,
  named,
  nextCursor,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
} from '../openapi/json-schema'

const MAX_SCOPES = 50

const RequestedScopes = checked<readonly SocialScope[]>(
  {
    ...listOf(
      oneOf(SOCIAL_SCOPES, SOCIAL_SCOPES.map((scope) => `\`${scope}\`: ${SCOPE_MEANINGS[scope]}`).join('. ')),
      'The scopes to request. Defaults to all seven. `tweet.read`, `users.read` and `offline.access` are always added.',
    ),
    minItems: 1,
    maxItems: MAX_SCOPES,
  },
  brokenScopes,
)

/** The body of a request to link an account. Without scopes, all are requested. */
export const NewSocialLink = partialForm('What to request from the user.', {
  scopes: RequestedScopes,
  key_id: text(
    'Only with an access token: the API key to link to. With an API key, omit it; the key links to itself.',
    {
      minLength: 1,
    },
  ),
})
export type NewSocialLink = Static<typeof NewSocialLink>

/** The same from an owner who is signed in. */
export const NewOwnerSocialLink = form(
  'The key and the scopes to request.',
  { key_id: text('Id of one of your keys.', { minLength: 1 }), scopes: RequestedScopes },
  ['scopes'],
)
export type NewOwnerSocialLink = Static<typeof NewOwnerSocialLink>

const LINK = {
  auth_url: text('Open it in the browser of the user whose account you link.', { format: 'uri' }),
  state: text('Identifies this approval when the browser returns. The gateway verifies it for you.'),
  expires_at: instant('When the address expires: ten minutes after this response.'),
  scopes: listOf(text('A scope.'), 'The requested scopes, including those that every call needs.'),
}

export const SocialLink = named('SocialLink', record('The approval page.', LINK))
export type SocialLink = Static<typeof SocialLink>

export const OwnerSocialLink = named(
  'OwnerSocialLink',
  record('The approval page, for the dashboard.', { ...LINK, link_id: text('Id of the attempt, to cancel it.') }),
)
export type OwnerSocialLink = Static<typeof OwnerSocialLink>

const Scope = oneOf(SOCIAL_SCOPES, 'A scope.')
const Network = oneOf(['sandbox', 'x'], 'The social network.')

const LinkAttemptRecord = record('The last attempt to link an account, unless it succeeded.', {
  id: text('Its id.'),
  state: oneOf(['waiting', 'expired', 'denied', 'failed', 'cancelled'], 'Its status.'),
  scopes: listOf(Scope, 'The requested scopes.'),
  expires_at: instant('When it expires.'),
})
type LinkAttemptRecord = Static<typeof LinkAttemptRecord>

export const SocialAccount = named(
  'SocialAccount',
  record('A key and its linked social account.', {
    key: record('The key.', {
      id: text('Its id.'),
      name: text('Its name.'),
      prefix: text('The first characters of its secret.'),
      last4: text('The last four characters of its secret.'),
    }),
    state: oneOf(
      ['none', 'linked', 'expired', 'revoked'],
      'State of the link. `revoked` means that the user withdrew access at the network.',
    ),
    network: orNull(Network),
    account: orNull(
      record('The linked account.', {
        id: text('Its id at the network.'),
        username: text('Its name without the @.'),
        name: text('Its display name.'),
      }),
    ),
    scopes: listOf(Scope, 'The scopes that the user granted.'),
    missing_scope: orNull({ ...Scope, description: 'The scope that the last refused call was missing.' }),
    linked_at: orNull(instant('When it was linked.')),
    refreshed_at: orNull(instant('When its tokens were last refreshed.')),
    link: orNull(LinkAttemptRecord),
  }),
)
export type SocialAccount = Static<typeof SocialAccount>

export const SocialAccounts = named(
  'SocialAccounts',
  record('The social accounts of all keys.', {
    network: orNull({ ...Network, description: 'The social network of this gateway; null if none is configured.' }),
    scopes: listOf(
      record('A scope.', { name: Scope, meaning: text('What it allows.') }),
      'The scopes that can be requested.',
    ),
    accounts: listOf(SocialAccount, 'One per key. A rotated key is listed with its successor.'),
    next_cursor: nextCursor(),
  }),
)
export type SocialAccounts = Static<typeof SocialAccounts>

export const OneSocialAccount = named('OneSocialAccount', record('One account.', { account: SocialAccount }))
export type OneSocialAccount = Static<typeof OneSocialAccount>

/** Everything that routes need for linked accounts; null if no network is configured. */
export interface Social extends SocialParts {
  readonly linking: Linking
  readonly approvals: Approvals
  /** Whether browsers reach this gateway only over https. */
  readonly overHttps: boolean
  readonly store: SocialStore
}

export const NO_NETWORK = failure(
  'upstream_unavailable',
  'No social network is configured on this gateway. Ask its operator to set one up.',
)

/** A started link as its caller sees it. No other response contains the state. */
export function linkAnswer({ link, state, authUrl }: StartedLink): SocialLink {
  return {
    auth_url: authUrl,
    state,
    expires_at: isoTime(link.expiresAt),
    scopes: [...link.scopes, OFFLINE_ACCESS],
  }
}

/** One key with its linked account and the last attempt to link one. Contains no tokens, not even encrypted ones. */
export function socialRecord(
  key: KeyLabel,
  session: SocialSession | null,
  link: LinkAttempt | null,
  now: number,
): SocialAccount {
  const { id, name, prefix, last4 } = key
  return {
    key: { id, name, prefix, last4 },
    state: session ? sessionState(session, now) : 'none',
    network: session?.network ?? null,
    account: session && { id: session.user.id, username: session.user.username, name: session.user.name },
    scopes: session?.scopes ?? [],
    missing_scope: session?.missingScope ?? null,
    linked_at: session && isoTime(session.linkedAt),
    refreshed_at: session?.refreshedAt ? isoTime(session.refreshedAt) : null,
    link: link && linkRecord(link, session, now),
  }
}

/** Null for an attempt that succeeded, or that a later successful one replaced. */
function linkRecord(link: LinkAttempt, session: SocialSession | null, now: number): LinkAttemptRecord | null {
  const { id, scopes, expiresAt, createdAt, outcome, usedAt } = link
  if (outcome === 'linked' || (session && session.linkedAt > createdAt)) return null
  // After the approval at the network, it waits for the button on the callback page.
  const open = now < (usedAt === null ? expiresAt : usedAt + CONFIRM_MS)
  return {
    id,
    state: outcome ?? (open ? 'waiting' : usedAt === null ? 'expired' : 'failed'),
    scopes: [...scopes],
    expires_at: isoTime(expiresAt),
  }
}

/** One record per spend pool of the account, listed under its newest key that is not revoked. */
export async function socialRecords(
  social: Pick<Social, 'store' | 'network'>,
  credentials: CredentialStore,
  { accountId: account, member }: Pick<KeyOwner, 'accountId' | 'member'>,
  query: Parameters<typeof KEY_ROWS_QUERY>,
  now: number,
): Promise<Pick<SocialAccounts, 'accounts' | 'next_cursor'>> {
  const [all, links] = await Promise.all([social.store.sessionsOf(account), social.store.newestLinks(account)])
  // Accounts linked at a network that this gateway no longer uses cannot act.
  const sessions = all.filter(({ network }) => network === social.network.name)
  // An account whose keys were all revoked is still listed, so that the owner can unlink it.
  const linked = sessions.map(({ poolId }) => poolId)
  const { rows, next } = keyRowsPage(
    await credentials.lists.seenBy(onlyOf(member)).ofPools(account, linked, now),
    query,
  )
  const accounts = rows.map((key) =>
    socialRecord(
      key,
      sessions.find(({ poolId }) => poolId === key.poolId) ?? null,
      links.find(({ poolId }) => poolId === key.poolId) ?? null,
      now,
    ),
  )
  return { accounts, next_cursor: next }
}

function brokenScopes(value: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_SCOPES)
    return `must be a list of 1 to ${MAX_SCOPES} scopes`
  const unknown = value.filter((scope) => typeof scope !== 'string' || !isSocialScope(scope))
  if (unknown.length === 0) return null
  const shown = unknown.slice(0, 10).map((scope) => jsonText(scope).slice(0, 40))
  return `must contain only ${SOCIAL_SCOPES.join(', ')}; unknown: ${shown.join(', ')}`
}
