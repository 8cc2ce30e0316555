import { randomBytes, randomUUID } from 'node:crypto'
import type { BetterAuthOptions, DBAdapter, DBAdapterInstance, Where } from 'better-auth'
import { APIError } from 'better-auth/api'
import type { Registration } from './oauth/oauth-registration'
import { SECRET_FIELDS, type SecretHash } from './secret-hash'
import type { CodeUses } from './sign-in/code-uses'

export interface LibraryStoreParts {
  readonly hash: SecretHash
  readonly uses: CodeUses
  /** A statement failed. The library ignores some failures: it takes a session that it cannot read for deleted. */
  readonly onFailure: (error: unknown) => void
  /** The metadata of the app that is being registered. */
  readonly registration: () => Registration | undefined
  /** The library reads the authenticator app of a user. */
  readonly onSecondFactorRead: (row: Readonly<Record<string, unknown>>) => Promise<void>
  /** Too many wrong codes locked the second factor of a user. */
  readonly onSecondFactorLocked: (userId: string) => Promise<void>
}

type Row = Record<string, unknown>
/** The ids of refresh tokens that were redeemed and whose successors are not stored yet, by their families. */
type Replaced = Map<string, string>

/**
 * Hardens the library's adapter: tokens and codes of `SECRET_FIELDS` are stored as hashes, a row expires exactly at its expiry, an app
 * keeps the scope and redirect URIs that it registered, concurrent uses of a code do not revoke each other's tokens, and a refresh
 * token is worthless once its successor was used.
 */
export function libraryStore(library: DBAdapterInstance, parts: LibraryStoreParts): DBAdapterInstance {
  // Changed in place: what the library hands out as its transaction is this same object.
  return (options: BetterAuthOptions) => {
    const adapter = library(options)
    const plain = noting(adapter, parts.onFailure)
    const replaced: Replaced = new Map()
    return Object.assign(
      adapter,
      reading(plain, parts),
      writing(plain, parts, replaced),
      rotating(plain, parts, replaced),
    )
  }
}

/** A copy whose failures are noted, and thrown as before. */
function noting(adapter: DBAdapter, onFailure: LibraryStoreParts['onFailure']): DBAdapter {
  const noted = Object.entries(adapter).map(([name, member]: [string, unknown]) => {
    if (typeof member !== 'function') return [name, member]
    const act = (...args: unknown[]): unknown => {
      const result: unknown = member(...args)
      if (result instanceof Promise) result.catch(onFailure)
      return result
    }
    return [name, act]
  })
  return Object.fromEntries(noted) as DBAdapter
}

/** For reads: returns the secret as the caller passed it, not its hash. */
function reading(
  plain: DBAdapter,
  { hash, onSecondFactorRead }: LibraryStoreParts,
): Pick<DBAdapter, 'findOne' | 'findMany' | 'count' | 'consumeOne'> {
  return {
    async findOne<T>({ join, ...query }: Parameters<DBAdapter['findOne']>[0]) {
      const { where, restored } = hashed(hash, query.model, query.where)
      const row = await plain.findOne<Row>({ ...query, where })
      if (row && query.model === 'twoFactor') await onSecondFactorRead(row)
      return (row && withJoined(plain, join, overAtExpiry(query.model, restored(row)))) as T | null
    },
    async findMany<T>({ join, ...query }: Parameters<DBAdapter['findMany']>[0]) {
      const { where, restored } = hashed(hash, query.model, query.where ?? [])
      const rows = await plain.findMany<Row>({ ...query, ...(query.where && { where }) })
      return Promise.all(
        rows.map((row) => withJoined(plain, join, overAtExpiry(query.model, restored(row)))),
      ) as Promise<T[]>
    },
    count: (query) => plain.count({ ...query, where: hashed(hash, query.model, query.where ?? []).where }),
    async consumeOne<T>(query: Parameters<DBAdapter['consumeOne']>[0]) {
      const { where, restored } = hashed(hash, query.model, query.where)
      const row = await plain.consumeOne<Row>({ ...query, where })
      return (row && overAtExpiry(query.model, restored(row))) as T | null
    },
  }
}

/** The row with the rows that the library joins to it. The library's own way prints those that it cannot read, with ids of users. */
async function withJoined(plain: DBAdapter, join: Parameters<DBAdapter['findOne']>[0]['join'], row: Row): Promise<Row> {
  const joined: Row = {}
  for (const [model, isJoined] of Object.entries(join ?? {})) {
    if (!isJoined) continue
    if (model === 'user') {
      joined[model] = await plain.findOne({ model, where: [{ field: 'id', value: String(row['userId']) }] })
    } else if (model === 'account') {
      joined[model] = await plain.findMany({ model, where: [{ field: 'userId', value: String(row['id']) }] })
    } else throw new Error(`the library joins ${model}, which nothing here reads`)
  }
  return { ...row, ...joined }
}

function writing(
  plain: DBAdapter,
  { hash, uses, registration }: LibraryStoreParts,
  replaced: Replaced,
): Pick<DBAdapter, 'create' | 'update' | 'updateMany' | 'delete' | 'deleteMany'> {
  const whereOf = (model: string, where: Where[]) => hashed(hash, model, where).where
  return {
    async create<T extends Row, R = T>(query: Parameters<DBAdapter['create']>[0]) {
      const data = { ...query.data, ...addedTo(query.model, query.data, registration()) }
      const row = await orInvalidGrant(query.model, () =>
        plain.create<Row, Row>({ ...query, data: withHashes(hash, query.model, data) }),
      )
      if (query.model === 'oauthRefreshToken') await refuseOrphan(plain, replaced, row)
      return { ...row, ...secretsOf(query.model, data) } as R
    },
    update: (query) =>
      plain.update({
        ...query,
        where: whereOf(query.model, query.where),
        update: withHashes(hash, query.model, query.update),
      }),
    updateMany: (query) =>
      plain.updateMany({
        ...query,
        where: whereOf(query.model, query.where),
        update: withHashes(hash, query.model, query.update),
      }),
    delete: (query) => plain.delete({ ...query, where: whereOf(query.model, query.where) }),
    deleteMany: async (query) => {
      const [only] = query.where
      // The library revokes a code's tokens when the code is used again. A use at the same time as the redemption is not a replay.
      if (only?.field === 'authorizationCodeId' && uses.areTogether(String(only.value))) return 0
      return plain.deleteMany({ ...query, where: whereOf(query.model, query.where) })
    },
  }
}

/** Redeeming a refresh token proves that it was received, so the token before it becomes worthless. */
function rotating(
  plain: DBAdapter,
  { hash, onSecondFactorLocked }: LibraryStoreParts,
  replaced: Replaced,
): Pick<DBAdapter, 'incrementOne'> {
  return {
    async incrementOne<T>(query: Parameters<DBAdapter['incrementOne']>[0]) {
      const { where, restored } = hashed(hash, query.model, query.where)
      const row = await plain.incrementOne<Row>({ ...query, where })
      if (!row) return null
      if (query.model === 'twoFactor' && query.set?.['lockedUntil'] instanceof Date)
        await onSecondFactorLocked(String(row['userId']))
      const family = row['authorizationCodeId']
      if (query.model === 'oauthRefreshToken' && typeof family === 'string') {
        if (query.set?.['rotatedAt']) replaced.set(family, String(row['id']))
        await plain.updateMany({
          model: query.model,
          where: [
            { field: 'authorizationCodeId', value: family },
            { field: 'id', operator: 'ne', value: String(row['id']) },
            { field: 'revoked', operator: 'ne', value: null },
          ],
          update: { rotationReplayResponse: null, rotationReplayExpiresAt: null },
        })
      }
      return restored(row) as T
    },
  }
}

/** The clauses with secrets hashed, and how to restore the secrets in a row that they find. */
function hashed(hash: SecretHash, model: string, where: readonly Where[]) {
  const fields = SECRET_FIELDS[model] ?? []
  const known = new Map<unknown, string>()
  const stored = (field: string, secret: unknown) => {
    if (typeof secret !== 'string') return secret
    const sealed = hash(model, field, secret)
    known.set(sealed, secret)
    return sealed
  }
  const clauses = where.map((clause) => {
    if (!fields.includes(clause.field)) return clause
    const { field, value } = clause
    return {
      ...clause,
      value: (Array.isArray(value) ? value.map((one) => stored(field, one)) : stored(field, value)) as Where['value'],
    }
  })
  const restored = (row: Row): Row => {
    const found = fields.flatMap((field) => {
      const secret = known.get(row[field])
      return secret === undefined ? [] : [[field, secret]]
    })
    return { ...row, ...Object.fromEntries(found) }
  }
  return { where: clauses, restored }
}

function secretsOf(model: string, data: Row): Row {
  const fields = (SECRET_FIELDS[model] ?? []).filter((field) => typeof data[field] === 'string')
  return Object.fromEntries(fields.map((field) => [field, data[field]]))
}

function withHashes(hash: SecretHash, model: string, data: Row): Row {
  const hashes = Object.entries(secretsOf(model, data)).map(([field, value]) => [
    field,
    hash(model, field, String(value)),
  ])
  return { ...data, ...Object.fromEntries(hashes) }
}

/** The library treats a row as live until its expiry has passed; here it expires at that very moment. */
function overAtExpiry(model: string, row: Row): Row {
  const { expiresAt } = row
  if (!ENDING.has(model) || !(expiresAt instanceof Date)) return row
  return { ...row, expiresAt: new Date(expiresAt.getTime() - 1) }
}

const ENDING: ReadonlySet<string> = new Set(['session', 'verification', 'oauthRefreshToken', 'deviceCode'])

function addedTo(model: string, data: Row, registration: Registration | undefined): Row {
  if (model === 'invitation') return { id: randomBytes(32).toString('base64url') }
  if (model === 'oauthClient' && registration)
    return {
      redirectUris: [...registration.redirectUris],
      ...(registration.scopes && { scopes: [...registration.scopes] }),
    }
  // Refresh tokens of a device have no code, so their family gets an id of its own.
  if (model === 'oauthRefreshToken' && !data['authorizationCodeId'])
    return { authorizationCodeId: `device:${randomUUID()}` }
  return {}
}

/** The grant ended while its token was being issued: the code was replayed, or the owner disconnected the app. */
async function orInvalidGrant<R>(model: string, create: () => Promise<R>): Promise<R> {
  try {
    return await create()
  } catch (error) {
    if (!model.startsWith('oauth') || !isMissingParent(error)) throw error
    throw invalidGrant()
  }
}

/**
 * Deletes a new refresh token, and throws, if the one that it replaces is gone: a disconnect came between the two, and did not see the new one. Replaced
 * tokens are kept, so nothing else deletes one so early. A disconnect that comes later deletes both.
 */
async function refuseOrphan(plain: DBAdapter, replaced: Replaced, row: Row): Promise<void> {
  const model = 'oauthRefreshToken'
  const family = String(row['authorizationCodeId'])
  const before = replaced.get(family)
  replaced.delete(family)
  if (before === undefined || (await plain.findOne({ model, where: [{ field: 'id', value: before }] }))) return
  await plain.delete({ model, where: [{ field: 'id', value: String(row['id']) }] })
  throw invalidGrant()
}

function invalidGrant(): APIError {
  return new APIError('BAD_REQUEST', {
    error: 'invalid_grant',
    error_description: 'the grant has expired or was revoked',
  })
}

function isMissingParent(error: unknown): boolean {
  let at = error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  return at instanceof Error && at.message.includes('FOREIGN KEY constraint failed')
}
