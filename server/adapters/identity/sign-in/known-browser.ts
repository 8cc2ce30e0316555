import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const COOKIE = 'gateway_known_browser'
/** The longest time for which browsers keep a cookie. */
const MAX_AGE_SECONDS = 400 * 24 * 3600

/**
 * The cookie that a browser keeps from its last sign-in, for one user. It is no session: it only distinguishes a browser of the owner from
 * a stranger's. Signed, not stored.
 */
export class KnownBrowsers {
  private readonly secret: string
  private readonly secure: boolean

  constructor(secret: string, secure: boolean) {
    this.secret = secret
    this.secure = secure
  }

  /** The id of a browser in which this user signed in before; null for any other. */
  read(headers: Headers, userId: string): string | null {
    const cookie = (headers.get('cookie') ?? '').split(/; */).find((pair) => pair.startsWith(`${COOKIE}=`))
    const [id = '', signature = ''] = (cookie ?? '').slice(COOKIE.length + 1).split('.')
    const [mine, theirs] = [Buffer.from(this.signature(id, userId)), Buffer.from(signature)]
    return mine.length === theirs.length && timingSafeEqual(mine, theirs) ? id : null
  }

  /** The `Set-Cookie` of a browser in which this user just signed in. */
  cookie(userId: string, known: string | null): string {
    const id = known ?? randomBytes(12).toString('base64url')
    const value = `${id}.${this.signature(id, userId)}`
    const attributes = `Max-Age=${MAX_AGE_SECONDS}; Path=/api/auth; HttpOnly; SameSite=Lax`
    return `${COOKIE}=${value}; ${attributes}${this.secure ? '; Secure' : ''}`
  }

  private signature(id: string, userId: string): string {
    return createHmac('sha256', this.secret).update(`known-browser\n${id}\n${userId}`).digest('base64url')
  }
}
