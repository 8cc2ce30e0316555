import { and, eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
import { builtOnce } from '../../../core/built-once'
import {
  ACCESS_TOKEN_PREFIX,
  AUDIENCES,
  type Audience,
  type GrantedApp,
  hashToken,
  type OAuthApp,
  type OAuthGrants,
  REFRESH_TOKEN_PREFIX,
  SCOPES,
  type Scope,
  type TokenGrant,
  type TokenHolder,
} from '../../../core/credentials/oauth-grant'
import { identityVerification } from '../../stores/libsql/schema/identity'
import {
  oauthAccessToken,
  oauthClient,
  oauthConsent,
  oauthDeviceCode,
  oauthRefreshToken,
} from '../../stores/libsql/schema/oauth'
import type { IdentityDatabase } from '../identity-database'
import { CLI_CLIENT_ID } from './oauth-options'
import { plainName } from './oauth-registration'

const MAX_REMEMBERED = 20_000
/** A token in use is read again after this time, so that a change made directly in the database takes effect too. */
const MAX_AGE_MS = 1000

interface Remembered {
  readonly grant: TokenGrant
  /** When the read began, and the count of changes at that time. */
  readonly at: number
  readonly changes: number
}

export interface LibraryGrantsParts {
  readonly db: IdentityDatabase
  readonly baseUrl: string
  /** A count that rises when a write that can change an access token begins, and again when it ends. */
  readonly changes: () => number
  readonly now: () => number
}

/**
 * Reads issued tokens from the OAuth server's tables. Tokens in use are cached until a table that they depend on is written, so that
 * a revocation takes effect immediately.
 */
export class LibraryGrants implements OAuthGrants {
  private readonly db: IdentityDatabase
  private readonly parts: LibraryGrantsParts
  private readonly origin: string
  private readonly byStored: () => ReturnType<typeof tokenQuery>
  /** Tokens that were found, by their hashes. The whole cache is cleared when it is full. */
  private readonly remembered = new Map<string, Remembered>()

  constructor(parts: LibraryGrantsParts) {
    this.parts = parts
    this.db = parts.db
    this.byStored = builtOnce(() => tokenQuery(parts.db))
    this.origin = new URL(parts.baseUrl).origin
  }

  wasGood(hash: string): boolean {
    return this.remembered.has(hash)
  }

  inMemory(hash: string): TokenGrant | null {
    const known = this.remembered.get(hash)
    if (!known || known.changes !== this.parts.changes()) return null
    const age = this.parts.now() - known.at
    return age >= 0 && age < MAX_AGE_MS ? known.grant : null
  }

  async byHash(stored: string): Promise<TokenGrant | null> {
    // Taken before the read: a write that begins meanwhile may not be seen by it.
    const [at, changes] = [this.parts.now(), this.parts.changes()]
    const [row] = await this.byStored().all({ stored })
    if (!row?.userId || row.disabled) {
      this.remembered.delete(stored)
      return null
    }
    const { userId, clientId } = row
    const resources = list(row.resources)
    const audiences = new Set(AUDIENCES.filter((path): path is Audience => resources.includes(this.origin + path)))
    const grant = { userId, clientId, scopes: scopesIn(row.scopes), audiences, expiresAt: row.expiresAt.getTime() }
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear()
    this.remembered.set(stored, { grant, at, changes })
    return grant
  }

  async app(clientId: string): Promise<OAuthApp | null> {
    const [row] = await this.db.select().from(oauthClient).where(eq(oauthClient.clientId, clientId))
    return row && !row.disabled ? appOf(row) : null
  }

  async holder(token: string): Promise<TokenHolder | null> {
    const isRefresh = token.startsWith(REFRESH_TOKEN_PREFIX)
    if (!isRefresh && !token.startsWith(ACCESS_TOKEN_PREFIX)) return null
    const tokens = isRefresh ? oauthRefreshToken : oauthAccessToken
    const { userId, clientId } = tokens
    const [row] = await this.db
      .select({ userId, clientId })
      .from(tokens)
      .where(eq(tokens.token, hashToken(token)))
    return row?.userId ? { userId: row.userId, clientId: row.clientId } : null
  }

  async apps(userId: string, now: number): Promise<readonly GrantedApp[]> {
    const at = new Date(now)
    const live = await Promise.all(
      [oauthRefreshToken, oauthAccessToken].map((tokens) =>
        this.db
          .select({ client: oauthClient, scopes: tokens.scopes })
          .from(tokens)
          .innerJoin(oauthClient, eq(oauthClient.clientId, tokens.clientId))
          .where(and(eq(tokens.userId, userId), isNull(tokens.revoked), gt(tokens.expiresAt, at))),
      ),
    )
    const apps = new Map<string, GrantedApp>()
    for (const { client, scopes } of live.flat()) {
      const known = apps.get(client.clientId)
      apps.set(client.clientId, {
        ...appOf(client),
        scopes: new Set([...(known?.scopes ?? []), ...scopesIn(scopes)]),
      })
    }
    return [...apps.values()]
  }

  async disconnect(userId: string, clientId: string | 'all'): Promise<void> {
    const of = (table: typeof oauthAccessToken | typeof oauthRefreshToken | typeof oauthConsent) =>
      this.db
        .delete(table)
        .where(and(eq(table.userId, userId), ...(clientId === 'all' ? [] : [eq(table.clientId, clientId)])))
    await this.db.batch([
      ...this.notFetched(userId, clientId),
      of(oauthRefreshToken),
      of(oauthAccessToken),
      of(oauthConsent),
    ])
  }

  /** Codes that have not been exchanged for tokens yet: device codes and authorization codes. */
  private notFetched(userId: string, clientId: string | 'all') {
    const { value } = identityVerification
    const byApp = (app: SQL) => (clientId === 'all' ? [] : [sql`${app} = ${clientId}`])
    const member = (path: string) => sql`iif(json_valid(${value}), json_extract(${value}, ${path}), NULL)`
    return [
      this.db
        .delete(oauthDeviceCode)
        .where(and(eq(oauthDeviceCode.userId, userId), ...byApp(sql`${oauthDeviceCode.oauthClientId}`))),
      this.db
        .delete(identityVerification)
        .where(
          and(
            sql`${member('$.type')} = 'authorization_code'`,
            sql`${member('$.userId')} = ${userId}`,
            ...byApp(member('$.query.client_id')),
          ),
        ),
    ] as const
  }
}

function tokenQuery(db: IdentityDatabase) {
  return db
    .select({
      userId: oauthAccessToken.userId,
      clientId: oauthAccessToken.clientId,
      scopes: oauthAccessToken.scopes,
      resources: oauthAccessToken.resources,
      expiresAt: oauthAccessToken.expiresAt,
      disabled: oauthClient.disabled,
    })
    .from(oauthAccessToken)
    .innerJoin(oauthClient, eq(oauthClient.clientId, oauthAccessToken.clientId))
    .where(and(eq(oauthAccessToken.token, sql.placeholder('stored')), isNull(oauthAccessToken.revoked)))
    .prepare()
}

function appOf(row: typeof oauthClient.$inferSelect): OAuthApp {
  const hosts = list(row.redirectUris).map((uri) => {
    const url = URL.parse(uri)
    return url ? `${url.protocol}//${url.host}` : 'an unreadable address'
  })
  return {
    clientId: row.clientId,
    name: plainName(row.name ?? 'An app without a name'),
    redirectHosts: [...new Set(hosts)],
    documentHost: row.clientDiscoveryId === null ? null : (URL.parse(row.clientId)?.host ?? null),
    firstParty: row.clientId === CLI_CLIENT_ID,
    registeredAt: row.createdAt?.getTime() ?? null,
  }
}

function scopesIn(stored: unknown): Set<Scope> {
  const named = list(stored)
  return new Set(SCOPES.filter((scope) => named.includes(scope)))
}

/** The library writes `string[]` as JSON text into a JSON column, so it is parsed once more. */
function list(stored: unknown): string[] {
  const value: unknown = typeof stored === 'string' ? JSON.parse(stored) : stored
  return Array.isArray(value) ? value.map(String) : []
}
