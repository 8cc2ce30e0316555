import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { SignedUpUser } from '../../../core/accounts/identity'
import { MAX_EMAIL_CHARACTERS } from '../../../core/accounts/mails/email-change'
import { type Clock, DAY_MS } from '../../../core/clock'
import { err, ok, type Result } from '../../../core/result'
import { isCallback, pathUnder } from '../auth-request'
import type { SignInRefusal } from '../error-shape'
import { beginsWithSecondFactor } from './second-factors'
import { type PasswordAttempt, SignInDelays } from './sign-in-delays'

/** The failure of an account with which strangers begin to wait. */
const FREE_FAILURES = 5
/** A browser of the owner does not wait for the failures of others, and for its own only when it guesses itself. */
const FREE_FAILURES_OF_KNOWN_BROWSERS = 20

/** Whether a session begins here. Others begin with a sign-up or a new password, in a browser that was there before. */
const isSignIn = (path: string) => path === '/sign-in/email' || isCallback(path) || beginsWithSecondFactor(path)

/** Signed-in routes that ask for the password once more. A stolen session must not be a way to guess it. */
const ASKS_AGAIN: ReadonlySet<string> = new Set([
  '/change-password',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/generate-backup-codes',
])

/** A browser in which its owner had not signed in before. */
export interface NewBrowser {
  readonly user: SignedUpUser
  readonly address: string | null
  readonly userAgent: string | null
}

/** Events at the sign-in routes, for the owner. Failures are reported, not thrown. */
export interface SignInEvents {
  /** Somebody gave a wrong password often enough that delays begin. Once a day at most. */
  readonly onGuessing: (user: SignedUpUser, address: string | null) => Promise<void>
  /** Somebody who knows the password gave so many wrong codes that the second factor is locked. Once a day at most. */
  readonly onSecondFactorLocked: (user: SignedUpUser, address: string | null) => Promise<void>
  /** Somebody signed in with a recovery code. */
  readonly onRecoveryCode: (user: SignedUpUser, address: string | null) => Promise<void>
  readonly onNewBrowser: (browser: NewBrowser) => Promise<void>
  /** The user linked an identity of a provider, which signs in from now on. */
  readonly onIdentityLinked: (user: SignedUpUser, address: string | null) => Promise<void>
}

interface Parts {
  readonly secret: string
  readonly origin: string
  readonly clock: Clock
  readonly userByEmail: (email: string) => Promise<SignedUpUser | null>
  readonly user: (id: string) => Promise<SignedUpUser | null>
  readonly session: (headers: Headers) => Promise<{ readonly id: string; readonly userId: string } | null>
  readonly events: SignInEvents
}

/** The outcome of a request that passed the guard. */
export interface SignInOutcome {
  readonly status: number
  /** The user whose session it began. */
  readonly startedFor: string | null
  /** Null if no password was compared. */
  readonly isPasswordRight: boolean | null
}

/** The end of a request that passed the guard. Returns cookies to set. */
export type Finish = (outcome: SignInOutcome) => Promise<readonly string[]>

/** An attempt to give a password, and whose it is. */
interface Guess {
  readonly attempt: PasswordAttempt
  readonly user: () => Promise<SignedUpUser | null>
}

/**
 * In front of the library's sign-in routes: slows down guessing, and recognizes browsers in which the owner signed in before.
 */
export class SignInGuard {
  private readonly parts: Parts
  private readonly browsers: KnownBrowsers
  private readonly delays: SignInDelays
  /** When owners were last notified of guessing, by what was guessed. */
  private readonly notifiedAt = new Map<string, number>()

  constructor(parts: Parts) {
    this.parts = parts
    this.browsers = new KnownBrowsers(parts.secret, parts.origin.startsWith('https:'))
    this.delays = new SignInDelays(parts.clock)
  }

  /** Refuses the request, or returns what to do when it ended. */
  async enter(request: Request, address: string | null): Promise<Result<Finish, SignInRefusal>> {
    const path = pathUnder(new URL(request.url))
    const body = path === '/sign-in/email' ? await fieldsOf(request.clone()) : {}
    const { headers } = request
    const guess = await this.guess(path, headers, body)
    if (guess && 'retryAfterSeconds' in guess) return err(tooManyFailures(guess.retryAfterSeconds))
    return ok(async (outcome) => {
      if (guess) await this.note(guess, outcome, address)
      return this.started(path, headers, address, outcome.startedFor)
    })
  }

  /** Somebody who knows the password gave too many wrong codes. */
  async secondFactorLocked(userId: string, address: string | null): Promise<void> {
    const user = this.isFirstToday(`code ${userId}`) ? await this.parts.user(userId) : null
    if (user) await this.parts.events.onSecondFactorLocked(user, address)
  }

  /** Null where no password is compared. */
  private async guess(
    path: string,
    headers: Headers,
    body: Readonly<Record<string, unknown>>,
  ): Promise<Guess | { readonly retryAfterSeconds: number } | null> {
    if (ASKS_AGAIN.has(path)) {
      const session = await this.parts.session(headers)
      if (!session) return null
      const attempt = this.delays.begin(`session ${session.id}`, FREE_FAILURES)
      return 'retryAfterSeconds' in attempt ? attempt : { attempt, user: () => this.parts.user(session.userId) }
    }
    const email = typeof body['email'] === 'string' ? body['email'].toLowerCase() : ''
    // The library refuses an invalid email.
    if (email === '' || email.length > MAX_EMAIL_CHARACTERS) return null
    const user = await this.parts.userByEmail(email)
    const known = user && this.browsers.read(headers, user.id)
    const attempt = known
      ? this.delays.begin(`browser ${known}`, FREE_FAILURES_OF_KNOWN_BROWSERS)
      : this.delays.begin(`email ${email}`, FREE_FAILURES)
    return 'retryAfterSeconds' in attempt ? attempt : { attempt, user: async () => user }
  }

  /**
   * Only a right password ends the delays. Any other answer could be had without one: a refused `callbackURL` is a 403 before the
   * password is looked at.
   */
  private async note({ attempt, user }: Guess, outcome: SignInOutcome, address: string | null): Promise<void> {
    const isWrong = outcome.isPasswordRight === false || outcome.status === 401
    if (outcome.isPasswordRight) return attempt.succeeded()
    if (!isWrong) return attempt.withdrawn()
    const owner = attempt.beginsDelays ? await user() : null
    if (owner && this.isFirstToday(`password ${owner.id}`)) void this.parts.events.onGuessing(owner, address)
  }

  private isFirstToday(notice: string): boolean {
    const now = this.parts.clock.now()
    for (const [key, at] of this.notifiedAt) if (now - at >= DAY_MS) this.notifiedAt.delete(key)
    if (this.notifiedAt.has(notice)) return false
    this.notifiedAt.set(notice, now)
    return true
  }

  /** Lets the browser know, and the owner of a browser that is new. */
  private async started(
    path: string,
    headers: Headers,
    address: string | null,
    startedFor: string | null,
  ): Promise<readonly string[]> {
    if (startedFor === null) return []
    const known = this.browsers.read(headers, startedFor)
    const { events } = this.parts
    const usedCode = path === '/two-factor/verify-backup-code'
    const user = usedCode || (known === null && isSignIn(path)) ? await this.parts.user(startedFor) : null
    if (user && usedCode) await events.onRecoveryCode(user, address)
    if (user && known === null) await events.onNewBrowser({ user, address, userAgent: headers.get('user-agent') })
    return [this.browsers.cookie(startedFor, known)]
  }
}

/** The members of a JSON body that was checked to parse. */
async function fieldsOf(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await request.text()
  const body: unknown = text === '' ? null : JSON.parse(text)
  return typeof body === 'object' && body !== null ? { ...body } : {}
}

function tooManyFailures(retryAfterSeconds: number): SignInRefusal {
  return { status: 429, code: null, message: null, retryAfterSeconds }
}

const COOKIE = 'gateway_known_browser'
/** The longest time for which browsers keep a cookie. */
const MAX_AGE_SECONDS = 400 * 24 * 3600

/**
 * The cookie that a browser keeps from its last sign-in, for one user. It is no session: it only distinguishes a browser of the owner from
 * a stranger's. Signed, not stored.
 */
class KnownBrowsers {
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
