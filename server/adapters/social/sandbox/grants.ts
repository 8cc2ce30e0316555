import { hash, randomBytes } from 'node:crypto'
import type { Tables } from './tables'

/** Of the real network: a code lives 30 seconds, an access token two hours. */
const CODE_LIFETIME_MS = 30_000
const ACCESS_LIFETIME_S = 7200

export interface AuthorizationGrant {
  readonly user: string
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly challenge: string
}

export interface TokenPair {
  readonly access: string
  readonly refresh: string | null
  readonly expiresInSeconds: number
  readonly scopes: readonly string[]
}

/** The user and app of an access token. */
export interface Bearer {
  readonly user: string
  readonly scopes: readonly string[]
}

/**
 * Codes, grants and tokens of the sandbox, stored as hashes. Codes and refresh tokens work once; reusing one ends the
 * whole grant, because it must have been stolen.
 */
export class Grants {
  private readonly tables: Tables
  private readonly now: () => number

  constructor(tables: Tables, now: () => number) {
    this.tables = tables
    this.now = now
  }

  async code({ user, scopes, redirectUri, challenge }: AuthorizationGrant): Promise<string> {
    const code = secret()
    const expiresAt = this.now() + CODE_LIFETIME_MS
    const sql = 'INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, NULL)'
    await this.tables.change(sql, digest(code), user, scopes.join(' '), redirectUri, challenge, expiresAt)
    return code
  }

  /** Null for a code that is unknown, used or expired, or has another redirect URI or verifier. */
  async exchange(code: string, redirectUri: string, verifier: string): Promise<TokenPair | null> {
    const row = await this.tables.first('SELECT * FROM codes WHERE hash = ?', digest(code))
    if (!row) return null
    if (row['grant_id'] !== null) {
      await this.end(Number(row['grant_id']))
      return null
    }
    const fits = row['redirect_uri'] === redirectUri && row['challenge'] === hash('sha256', verifier, 'base64url')
    if (!fits || Number(row['expires_at']) <= this.now()) return null
    const scopes = String(row['scopes']).split(' ')
    const grant = await this.tables.first(
      'INSERT INTO grants (user, scopes, at) VALUES (?, ?, ?) RETURNING id',
      String(row['user']),
      scopes.join(' '),
      this.now(),
    )
    const id = Number(grant?.['id'])
    const won = await this.tables.change(
      'UPDATE codes SET grant_id = ? WHERE hash = ? AND grant_id IS NULL',
      id,
      digest(code),
    )
    if (won === 0) {
      await this.end(id)
      return null
    }
    return this.pair(id, scopes)
  }

  /** Null for a token that is unknown or used, or whose grant has ended. */
  async refresh(token: string): Promise<TokenPair | null> {
    const row = await this.tables.first(
      `UPDATE tokens SET used_at = ? WHERE hash = ? AND kind = 'refresh' AND used_at IS NULL RETURNING grant_id`,
      this.now(),
      digest(token),
    )
    if (!row) {
      const spent = await this.tables.first(
        `SELECT grant_id FROM tokens WHERE hash = ? AND kind = 'refresh'`,
        digest(token),
      )
      if (spent) await this.end(Number(spent['grant_id']))
      return null
    }
    const id = Number(row['grant_id'])
    const grant = await this.tables.first('SELECT scopes FROM grants WHERE id = ? AND revoked_at IS NULL', id)
    if (!grant) return null
    await this.tables.change(`UPDATE tokens SET used_at = ? WHERE grant_id = ? AND kind = 'access'`, this.now(), id)
    return this.pair(id, String(grant['scopes']).split(' '))
  }

  async bearer(token: string): Promise<Bearer | null> {
    const row = await this.tables.first(
      `SELECT g.user, g.scopes FROM tokens t JOIN grants g ON g.id = t.grant_id
       WHERE t.hash = ? AND t.kind = 'access' AND t.used_at IS NULL AND t.expires_at > ? AND g.revoked_at IS NULL`,
      digest(token),
      this.now(),
    )
    return row ? { user: String(row['user']), scopes: String(row['scopes']).split(' ') } : null
  }

  /** Ends the grant that a token belongs to. An unknown token is no error (RFC 7009 2.2). */
  async revoke(token: string): Promise<void> {
    const row = await this.tables.first('SELECT grant_id FROM tokens WHERE hash = ?', digest(token))
    if (row) await this.end(Number(row['grant_id']))
  }

  /** A user's active grants, newest first. */
  async of(user: string): Promise<readonly { id: number; scopes: readonly string[]; at: number }[]> {
    const rows = await this.tables.all(
      'SELECT * FROM grants WHERE user = ? AND revoked_at IS NULL ORDER BY id DESC',
      user,
    )
    return rows.map((row) => ({
      id: Number(row['id']),
      scopes: String(row['scopes']).split(' '),
      at: Number(row['at']),
    }))
  }

  /** Revokes an app for its user. False when the grant is not that user's or has ended. */
  async withdraw(user: string, id: number): Promise<boolean> {
    const sql = 'UPDATE grants SET revoked_at = ? WHERE id = ? AND user = ? AND revoked_at IS NULL'
    return (await this.tables.change(sql, this.now(), id, user)) > 0
  }

  /** Expires every access token of the user, as if two hours had passed. */
  async expireAccess(user: string): Promise<void> {
    const sql = `UPDATE tokens SET expires_at = 0 WHERE kind = 'access' AND grant_id IN (SELECT id FROM grants WHERE user = ?)`
    await this.tables.change(sql, user)
  }

  private async end(grant: number): Promise<void> {
    await this.tables.change('UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', this.now(), grant)
  }

  private async pair(grant: number, scopes: readonly string[]): Promise<TokenPair> {
    const access = secret()
    const refresh = scopes.includes('offline.access') ? secret() : null
    const sql = 'INSERT INTO tokens VALUES (?, ?, ?, ?, NULL)'
    await this.tables.change(sql, digest(access), grant, 'access', this.now() + ACCESS_LIFETIME_S * 1000)
    if (refresh !== null) await this.tables.change(sql, digest(refresh), grant, 'refresh', null)
    return { access, refresh, expiresInSeconds: ACCESS_LIFETIME_S, scopes }
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url')
}

function digest(token: string): string {
  return hash('sha256', token, 'hex')
}
