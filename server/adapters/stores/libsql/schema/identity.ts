import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { StaffRole } from '../../../../core/accounts/account'
import type { Role } from '../../../../core/accounts/roles'
import type { AccountId } from '../../../../core/ids'
import { instant } from '../driver/columns'

/**
 * The tables of the sign-in library (better-auth 1.7.7, with second factors and passkeys). Only adapters/identity writes them.
 * Made by `bun tests/adapters/identity/generated-schema.ts`, then renamed; the property names are the library's own and
 * must stay. tests/adapters/identity/schema.test.ts fails when a version of the library wants other columns.
 */
export const identityUser = sqliteTable('identity_user', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  email: text('email').notNull().unique(),
  emailVerified: integer('email_verified', { mode: 'boolean' }).default(false).notNull(),
  image: text('image'),
  createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
  updatedAt: integer('updated_at', { mode: 'timestamp_ms' })
    .$onUpdate(() => new Date())
    .notNull(),
  twoFactorEnabled: integer('two_factor_enabled', { mode: 'boolean' }).default(false),
})

/** One row is one signed-in browser or script. The token is a hash under the gateway's own key, and a cookie needs its signature too. */
export const identitySession = sqliteTable(
  'identity_session',
  {
    id: text('id').primaryKey(),
    expiresAt: integer('expires_at', { mode: 'timestamp_ms' }).notNull(),
    token: text('token').notNull().unique(),
    createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer('updated_at', { mode: 'timestamp_ms' })
      .$onUpdate(() => new Date())
      .notNull(),
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    userId: text('user_id')
      .notNull()
      .references(() => identityUser.id, { onDelete: 'cascade' }),
    /** Whether it began with a second factor. Null in sessions from before second factors. */
    secondFactor: integer('second_factor', { mode: 'boolean' }).default(false),
    /** To the minute. Null until its first use. */
    lastSeenAt: integer('last_seen_at', { mode: 'timestamp_ms' }),
    /** The workspace that it shows; null for the user's own. */
    activeOrganizationId: text('active_organization_id'),
  },
  (table) => [index('identity_session_user_id_idx').on(table.userId)],
)

/** A user's sign-in method: here always one `credential` row with the scrypt hash. Not a billing account. */
export const identityAccount = sqliteTable(
  'identity_account',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    providerId: text('provider_id').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => identityUser.id, { onDelete: 'cascade' }),
    accessToken: text('access_token'),
    refreshToken: text('refresh_token'),
    idToken: text('id_token'),
    accessTokenExpiresAt: integer('access_token_expires_at', { mode: 'timestamp_ms' }),
    refreshTokenExpiresAt: integer('refresh_token_expires_at', { mode: 'timestamp_ms' }),
    scope: text('scope'),
    password: text('password'),
    createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer('updated_at', { mode: 'timestamp_ms' })
      .$onUpdate(() => new Date())
      .notNull(),
  },
  (table) => [
    index('identity_account_user_id_idx').on(table.userId),
    // An identity of a provider signs in one user.
    uniqueIndex('identity_account_key').on(table.providerId, table.accountId),
  ],
)

/** Short-lived proofs (a password reset). The identifier is stored as a hash. */
export const identityVerification = sqliteTable(
  'identity_verification',
  {
    id: text('id').primaryKey(),
    identifier: text('identifier').notNull(),
    value: text('value').notNull(),
    expiresAt: integer('expires_at', { mode: 'timestamp_ms' }).notNull(),
    createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer('updated_at', { mode: 'timestamp_ms' })
      .$onUpdate(() => new Date())
      .notNull(),
  },
  (table) => [index('identity_verification_identifier_idx').on(table.identifier)],
)

/** An authenticator app. The secret is encrypted under the gateway's key; the recovery codes are keyed hashes. */
export const identityTwoFactor = sqliteTable(
  'identity_two_factor',
  {
    id: text('id').primaryKey(),
    secret: text('secret').notNull(),
    backupCodes: text('backup_codes').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => identityUser.id, { onDelete: 'cascade' }),
    verified: integer('verified', { mode: 'boolean' }).default(true),
    failedVerificationCount: integer('failed_verification_count').default(0),
    lockedUntil: integer('locked_until', { mode: 'timestamp_ms' }),
  },
  (table) => [
    index('identity_two_factor_secret_idx').on(table.secret),
    index('identity_two_factor_user_id_idx').on(table.userId),
  ],
)

/** The public half of a passkey. */
export const identityPasskey = sqliteTable(
  'identity_passkey',
  {
    id: text('id').primaryKey(),
    name: text('name'),
    publicKey: text('public_key').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => identityUser.id, { onDelete: 'cascade' }),
    credentialID: text('credential_id').notNull(),
    counter: integer('counter').notNull(),
    deviceType: text('device_type').notNull(),
    backedUp: integer('backed_up', { mode: 'boolean' }).notNull(),
    transports: text('transports'),
    createdAt: integer('created_at', { mode: 'timestamp_ms' }),
    aaguid: text('aaguid'),
  },
  (table) => [
    index('identity_passkey_user_id_idx').on(table.userId),
    index('identity_passkey_credential_id_idx').on(table.credentialID),
  ],
)

/** A workspace, the sign-in library's name of an account that people share. Its id is the account's. */
export const identityOrganization = sqliteTable('identity_organization', {
  id: text('id').$type<AccountId>().primaryKey(),
  name: text('name').notNull(),
  /** Not used: the id again. */
  slug: text('slug').notNull().unique('identity_organization_slug'),
  logo: text('logo'),
  createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
  metadata: text('metadata'),
})

/** The people of a workspace; one is its owner. */
export const identityMember = sqliteTable(
  'identity_member',
  {
    id: text('id').primaryKey(),
    organizationId: text('organization_id')
      .$type<AccountId>()
      .notNull()
      .references(() => identityOrganization.id, { onDelete: 'cascade' }),
    userId: text('user_id')
      .notNull()
      .references(() => identityUser.id, { onDelete: 'cascade' }),
    role: text('role').$type<Role>().default('viewer').notNull(),
    createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('identity_member_once').on(table.organizationId, table.userId),
    uniqueIndex('identity_member_owner').on(table.organizationId).where(sql`${table.role} = 'owner'`),
    index('identity_member_user').on(table.userId),
  ],
)

/** The id is the hash of the secret in the link. */
export const identityInvitation = sqliteTable(
  'identity_invitation',
  {
    id: text('id').primaryKey(),
    organizationId: text('organization_id')
      .$type<AccountId>()
      .notNull()
      .references(() => identityOrganization.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    role: text('role').$type<Role>(),
    status: text('status').default('pending').notNull(),
    expiresAt: integer('expires_at', { mode: 'timestamp_ms' }).notNull(),
    createdAt: integer('created_at', { mode: 'timestamp_ms' }).notNull(),
    inviterId: text('inviter_id')
      .notNull()
      .references(() => identityUser.id, { onDelete: 'cascade' }),
  },
  (table) => [index('identity_invitation_organization').on(table.organizationId)],
)

/** The account of each user, and the role of those who run the gateway. A row is written before its account is opened. */
export const accountDirectory = sqliteTable(
  'account_directory',
  {
    accountId: text('account_id').$type<AccountId>().primaryKey(),
    /** The account's own id once its ownership was handed over: that user has another. */
    userId: text('user_id').notNull().unique('account_directory_user'),
    role: text().$type<StaffRole>(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    index('account_directory_staff').on(table.role).where(sql`${table.role} IS NOT NULL`),
    check('account_role_is_known', sql`${table.role} IN ('operator', 'support')`),
  ],
)
