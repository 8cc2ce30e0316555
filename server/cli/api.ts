import { CommandRefused, UsageError } from './control-client'
import { PROGRAM } from './program'
import { withRetries } from './retry'
import { type Session, SessionStore } from './session-store'
import { refreshed } from './sign-in'
import type { Terminal } from './terminal'

/** A token that expires within this time is refreshed before it is used. */
const RENEW_BEFORE_MS = 30_000

interface Options {
  readonly url?: string | undefined
  readonly 'no-retry'?: boolean | undefined
}

export interface RequestContent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The gateway's API, called with a sign-in or an API key. */
export class ApiClient {
  readonly url: string
  private readonly terminal: Terminal
  private readonly store: SessionStore
  private readonly retries: boolean
  private readonly key: string | null
  private session: Session | null

  private constructor(terminal: Terminal, store: SessionStore, session: Session | null, options: Options) {
    this.terminal = terminal
    this.store = store
    this.session = session
    this.retries = options['no-retry'] !== true
    this.key = terminal.env['GATEWAY_API_KEY'] || null
    this.url = gatewayUrl(options.url, terminal, session)
  }

  static async open(terminal: Terminal, options: Options): Promise<ApiClient> {
    const store = new SessionStore(terminal)
    const key = terminal.env['GATEWAY_API_KEY']
    // A key needs no sign-in, so a broken session file must not stop it.
    return new ApiClient(terminal, store, key ? null : await store.read(), options)
  }

  /** Sends a request and retries after a 429. Returns a successful response; throws `Refused` for any other. */
  async send(method: string, path: string, { body, headers = {} }: RequestContent = {}): Promise<Response> {
    const attempt = async (credential: string) => {
      const request = () =>
        this.terminal
          .fetch(
            new Request(this.url + path, {
              method,
              headers: {
                accept: 'application/json',
                authorization: `Bearer ${credential}`,
                'user-agent': 'gateway-cli',
                ...(body !== undefined && { 'content-type': 'application/json' }),
                ...headers,
              },
              ...(body !== undefined && { body: JSON.stringify(body) }),
            }),
          )
          .catch((error: unknown) => {
            throw new CommandRefused(`cannot reach ${this.url}: ${error instanceof Error ? error.message : error}`)
          })
      return this.retries ? withRetries(this.terminal, request, (seconds) => this.tellWait(seconds)) : request()
    }
    let answer = await attempt(await this.credential())
    if (answer.status === 401 && this.session) answer = await attempt(await this.renewed(this.session.accessToken))
    if (answer.ok) return answer
    throw new CommandRefused(await errorText(answer))
  }

  async json(method: string, path: string, sent: RequestContent = {}): Promise<Record<string, unknown>> {
    return Object((await (await this.send(method, path, sent)).json()) as unknown)
  }

  private async credential(): Promise<string> {
    if (this.key) return this.key
    if (!this.session || this.session.url !== this.url)
      throw new UsageError(`not signed in to ${this.url}. Run "${PROGRAM} login", or set GATEWAY_API_KEY`)
    const soon = this.session.expiresAt - RENEW_BEFORE_MS <= this.terminal.now()
    return soon ? this.renewed(this.session.accessToken) : this.session.accessToken
  }

  /** Returns a token to replace an expired one. Another process may already have refreshed it. */
  private renewed(expired: string): Promise<string> {
    return this.store.locked(async () => {
      const stored = await this.store.read()
      if (!stored) throw new CommandRefused(`signed out by another command. Run "${PROGRAM} login"`)
      const session = stored.accessToken === expired ? await refreshed(stored, this.terminal) : stored
      if (session !== stored) await this.store.write(session)
      this.session = session
      return session.accessToken
    })
  }

  private tellWait(seconds: number): void {
    if (this.terminal.isInteractive) this.terminal.err(`Rate limit reached. Retrying in ${Math.ceil(seconds)} s ...\n`)
  }
}

/** The gateway's origin: from --url, GATEWAY_URL, the session or the default. Throws `UsageError` for an invalid or insecure URL. */
export function gatewayUrl(given: string | undefined, terminal: Terminal, session: Session | null): string {
  const { GATEWAY_URL, PORT = '3000' } = terminal.env
  const text = given ?? GATEWAY_URL ?? session?.url ?? `http://localhost:${PORT}`
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`"${text}" is not a URL such as https://gateway.example.com`)
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol === 'http:' && !isLoopback)
    throw new UsageError(`${text} must use https: keys and tokens are not sent unencrypted`)
  return url.origin
}

async function errorText(answer: Response): Promise<string> {
  const text = await answer.text()
  try {
    const error: unknown = Reflect.get(Object(JSON.parse(text)), 'error')
    const read = (name: string): unknown => Reflect.get(Object(error), name)
    return `${read('message') ?? text} (${read('code') ?? answer.status})`
  } catch {
    return `the gateway returned status ${answer.status}`
  }
}
