import { createHmac, timingSafeEqual } from 'node:crypto'
import { eq, inArray } from 'drizzle-orm'
import { GatheredLookups } from '../../core/gathered-lookups'
import { identitySession } from '../stores/libsql/schema/identity'
import { oauthAccessToken } from '../stores/libsql/schema/oauth'
import type { IdentityDatabase } from './identity-database'
import { storedForm } from './oauth/oauth-grants'
import { type SecretHash, secretHash } from './secret-hash'

/** The library's name, without the prefix that it has over https. */
const COOKIE = 'better-auth.session_token'

/**
 * The users of sessions and access tokens, for a node that forwards requests. It says whose they are, and never whether they are still valid: the node that answers
 * the request decides that.
 */
export class RequestUsers {
  private readonly db: Pick<IdentityDatabase, 'select'>
  private readonly secret: string
  private readonly hash: SecretHash
  private readonly cookie: string
  /** Anybody can make tokens up; sessions are signed. */
  private readonly byToken: GatheredLookups<string>

  constructor({
    db,
    secret,
    baseUrl,
  }: {
    readonly db: Pick<IdentityDatabase, 'select'>
    /** Signs the session cookies. */
    readonly secret: string
    readonly baseUrl: string
  }) {
    this.db = db
    this.secret = secret
    this.hash = secretHash(secret)
    this.cookie = baseUrl.startsWith('https:') ? `__Secure-${COOKIE}` : COOKIE
    this.byToken = new GatheredLookups(async (tokens) => {
      const { userId, token } = oauthAccessToken
      const rows = await db
        .select({ userId, token })
        .from(oauthAccessToken)
        .where(inArray(token, [...tokens]))
      return new Map(rows.flatMap(({ token: name, userId: user }) => (user === null ? [] : [[name, user] as const])))
    })
  }

  /** How the session of the cookie is stored; null without a cookie that this gateway signed. */
  sessionIn(headers: Headers): string | null {
    const value = firstCookie(headers.get('cookie') ?? '', this.cookie)
    const end = value.lastIndexOf('.')
    const token = value.slice(0, Math.max(0, end))
    const signature = Buffer.from(value.slice(end + 1), 'base64')
    const right = createHmac('sha256', this.secret).update(token).digest()
    if (token === '' || signature.length !== right.length || !timingSafeEqual(signature, right)) return null
    return this.hash('session', 'token', token)
  }

  /** How an access token is stored. */
  tokenIn(token: string): string {
    return storedForm(token)
  }

  async userOfSession(stored: string): Promise<string | null> {
    const { userId, token } = identitySession
    const [row] = await this.db.select({ userId }).from(identitySession).where(eq(token, stored))
    return row?.userId ?? null
  }

  userOfToken(stored: string): Promise<string | null> {
    return this.byToken.of(stored)
  }
}

/** The first cookie of this name, which is the one that sign-in reads: a browser may send several, of a domain and of its parent. */
function firstCookie(header: string, name: string): string {
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    return decoded(value.startsWith('"') ? value.slice(1, -1) : value)
  }
  return ''
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
