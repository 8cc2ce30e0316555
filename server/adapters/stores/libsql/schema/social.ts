import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { AccountId, KeyId, PoolId, SocialLinkId, SocialSessionId } from '../../../../core/ids'
import type { SocialScope } from '../../../../core/social/scopes'
import type { LinkOutcome, NetworkName } from '../../../../core/social/session'
import { instant } from '../driver/columns'
import { accounts } from './accounts'
import { keys, pools } from './keys'

const belongsTo = {
  accountId: () =>
    text('account_id')
      .$type<AccountId>()
      .notNull()
      .references(() => accounts.id),
  poolId: () =>
    text('pool_id')
      .$type<PoolId>()
      .notNull()
      .references(() => pools.id),
  keyId: () =>
    text('key_id')
      .$type<KeyId>()
      .notNull()
      .references(() => keys.id),
}

/** Attempts to link an account. The state is stored as its SHA-256, the code verifier sealed. */
export const socialLinks = sqliteTable(
  'social_links',
  {
    id: text().$type<SocialLinkId>().primaryKey(),
    stateHash: text('state_hash').notNull().unique('social_links_state'),
    accountId: belongsTo.accountId(),
    poolId: belongsTo.poolId(),
    keyId: belongsTo.keyId(),
    scopes: text({ mode: 'json' }).$type<readonly SocialScope[]>().notNull(),
    verifier: text().notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
    outcome: text().$type<LinkOutcome>(),
  },
  (table) => [index('social_links_account').on(table.accountId, table.poolId, table.id)],
)

const sessionColumns = () => ({
  id: text().$type<SocialSessionId>().primaryKey(),
  accountId: belongsTo.accountId(),
  poolId: belongsTo.poolId(),
  keyId: belongsTo.keyId(),
  network: text().$type<NetworkName>().notNull(),
  userId: text('user_id').notNull(),
  username: text().notNull(),
  name: text().notNull(),
  scopes: text({ mode: 'json' }).$type<readonly SocialScope[]>().notNull(),
  accessToken: text('access_token').notNull(),
  refreshToken: text('refresh_token'),
  accessExpiresAt: instant('access_expires_at').notNull(),
  linkedAt: instant('linked_at').notNull(),
  refreshedAt: instant('refreshed_at'),
  revokedAt: instant('revoked_at'),
  missingScope: text('missing_scope').$type<SocialScope>(),
})

/** Linked accounts, one per spend pool. Both tokens are sealed, each bound to its row and column. */
export const socialSessions = sqliteTable('social_sessions', sessionColumns(), (table) => [
  uniqueIndex('social_sessions_pool').on(table.poolId),
  index('social_sessions_account').on(table.accountId, table.id),
])

/** Pending sessions until the user in the browser confirms; no call can use one. The browser's proof is stored as its SHA-256. */
export const socialApprovals = sqliteTable(
  'social_approvals',
  {
    ...sessionColumns(),
    linkId: text('link_id')
      .$type<SocialLinkId>()
      .notNull()
      .references(() => socialLinks.id),
    proofHash: text('proof_hash').notNull().unique('social_approvals_proof'),
    expiresAt: instant('expires_at').notNull(),
    confirmedAt: instant('confirmed_at'),
  },
  (table) => [index('social_approvals_pool').on(table.poolId), index('social_approvals_expires').on(table.expiresAt)],
)
