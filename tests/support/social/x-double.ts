import { createHash, randomBytes } from 'node:crypto'
import {
  CREDITS_DEPLETED,
  DEAD_CODE,
  DEAD_TOKEN,
  DUPLICATE,
  FORBIDDEN,
  NO_CLIENT,
  noSuchUser,
  TOO_MANY,
  UNAUTHORIZED,
} from './x-recordings'

export interface Recorded {
  readonly method: string
  readonly path: string
  readonly authorization: string | null
  readonly contentType: string | null
  readonly body: string
}

interface Grant {
  readonly user: string
  readonly scopes: readonly string[]
  revoked: boolean
}

const CLIENT = { id: 'Y2xpZW50', secret: 'shh:it is/secret' }
const USERS = [
  { id: '2244994945', name: 'Developers', username: 'XDevelopers' },
  { id: '6253282', name: 'API', username: 'API' },
  { id: '783214', name: 'X', username: 'X' },
]
const ME = USERS[0] ?? { id: '', name: '', username: '' }
const ID = /^[0-9]{1,19}$/

/** A body as the published schema admits it: no other members (`additionalProperties: false`), ids of 1 to 19 digits. */
const SCHEMAS: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  following: { target_user_id: (value) => ID.test(String(value)) },
  likes: { tweet_id: (value) => ID.test(String(value)) },
  tweets: {
    text: (value) => typeof value === 'string',
    reply: (value) => ID.test(String(Reflect.get(Object(value), 'in_reply_to_tweet_id'))),
    quote_tweet_id: (value) => ID.test(String(value)),
  },
  messages: { text: (value) => typeof value === 'string' && value.length > 0 },
}

/**
 * A double of the real X API v2 on a socket of its own, made from its published description and from recorded bodies
 * (x-recordings.ts), with no code of the sandbox or of the adapter. It keeps what the real one promises: single-use codes and
 * refresh tokens, Basic authentication of the client, strict bodies, 201 for what is made, rate headers on every answer.
 */
export class XDouble {
  readonly clientId = CLIENT.id
  readonly clientSecret = CLIENT.secret
  readonly redirectUri = 'https://gateway.example/apis/v1/social/oauth_callback'
  readonly me = ME
  readonly users = USERS
  readonly requests: Recorded[] = []
  /** The answer to the next API request of any kind. */
  next: (() => Response | Promise<Response>) | null = null
  /** Whether the next write is done and its answer then cut short. */
  cutsNext = false
  private readonly codes = new Map<string, { grant: Grant; challenge: string; spent: boolean }>()
  private readonly access = new Map<string, Grant>()
  private readonly refresh = new Map<string, { grant: Grant; spent: boolean }>()
  private readonly grants: Grant[] = []
  private readonly posts = new Map<string, { author: string; text: string }>()
  private readonly messages: { id: string; to: string; text: string }[] = []
  private ids = 1_585_321_444_547_837_956n
  private readonly server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => this.answer(request) })

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`
  }

  stop(): Promise<void> {
    return this.server.stop(true)
  }

  /** The effect of a person's decision on the real consent page. */
  decide(authUrl: string, decision: 'approve' | 'deny'): URLSearchParams {
    const query = new URL(authUrl).searchParams
    const wanted = [
      'response_type',
      'client_id',
      'redirect_uri',
      'scope',
      'state',
      'code_challenge',
      'code_challenge_method',
    ]
    if (wanted.some((name) => !query.get(name))) throw new Error('the authorization request lacks a parameter')
    if (query.get('client_id') !== CLIENT.id || query.get('redirect_uri') !== this.redirectUri)
      throw new Error('not our app')
    const back = new URLSearchParams({ state: query.get('state') ?? '' })
    if (decision === 'deny') back.set('error', 'access_denied')
    else {
      const code = secret()
      const grant = { user: ME.id, scopes: (query.get('scope') ?? '').split(' '), revoked: false }
      this.codes.set(code, { grant, challenge: query.get('code_challenge') ?? '', spent: false })
      back.set('code', code)
    }
    return back
  }

  withdrawAll(): void {
    for (const grant of this.grants) grant.revoked = true
  }

  expireAll(): void {
    this.access.clear()
  }

  postsSaying(text: string): number {
    return [...this.posts.values()].filter((post) => post.text === text).length
  }

  private async answer(request: Request): Promise<Response> {
    const { pathname: path, searchParams: query } = new URL(request.url)
    const body = await request.text()
    const { method, headers } = request
    const recorded = {
      method,
      path,
      body,
      authorization: headers.get('authorization'),
      contentType: headers.get('content-type'),
    }
    this.requests.push(recorded)
    if (path.startsWith('/2/oauth2/')) return this.oauth(path, recorded)
    const grant = this.access.get(/^Bearer (.+)$/.exec(recorded.authorization ?? '')?.[1] ?? '')
    const told = this.next
    this.next = null
    const response = told
      ? await told()
      : grant && !grant.revoked
        ? this.api(recorded, query, grant)
        : problem(UNAUTHORIZED)
    for (const [name, value] of Object.entries({ limit: '50', remaining: '49', reset: String(inFifteenMinutes()) }))
      if (!response.headers.has(`x-rate-limit-${name}`)) response.headers.set(`x-rate-limit-${name}`, value)
    if (!this.cutsNext) return response
    this.cutsNext = false
    // An answer that ends before it is whole: what a broken connection leaves.
    return new Response('{"da', response)
  }

  private oauth(path: string, { body, authorization, contentType }: Recorded): Response {
    const basic = `Basic ${btoa(`${encodeURIComponent(CLIENT.id)}:${encodeURIComponent(CLIENT.secret)}`)}`
    if (authorization !== basic) return Response.json(NO_CLIENT, { status: 401 })
    if (!contentType?.startsWith('application/x-www-form-urlencoded'))
      throw new Error('the token endpoint takes forms only')
    const form = new URLSearchParams(body)
    if (form.has('client_id')) throw new Error('a confidential client sends its id in the header only')
    if (path === '/2/oauth2/revoke') {
      const token = form.get('token') ?? ''
      const grant = this.access.get(token) ?? this.refresh.get(token)?.grant
      if (grant) grant.revoked = true
      return Response.json({ revoked: true })
    }
    if (form.get('grant_type') === 'authorization_code') return this.exchanged(form)
    const token = this.refresh.get(form.get('refresh_token') ?? '')
    if (token?.spent) token.grant.revoked = true
    if (!token || token.spent || token.grant.revoked) return Response.json(DEAD_TOKEN, { status: 400 })
    token.spent = true
    for (const [access, grant] of this.access) if (grant === token.grant) this.access.delete(access)
    return this.pair(token.grant)
  }

  private exchanged(form: URLSearchParams): Response {
    const code = this.codes.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!code || code.spent || code.challenge !== challenge || form.get('redirect_uri') !== this.redirectUri)
      return Response.json(DEAD_CODE, { status: 400 })
    code.spent = true
    this.grants.push(code.grant)
    return this.pair(code.grant)
  }

  private pair(grant: Grant): Response {
    const [access, refresh] = [secret(), secret()]
    this.access.set(access, grant)
    const offline = grant.scopes.includes('offline.access')
    if (offline) this.refresh.set(refresh, { grant, spent: false })
    return Response.json({
      token_type: 'bearer',
      expires_in: 7200,
      access_token: access,
      scope: grant.scopes.join(' '),
      ...(offline && { refresh_token: refresh }),
    })
  }

  private api({ method, path, body }: Recorded, query: URLSearchParams, grant: Grant): Response {
    const place = `${method} ${path}`
    const needs = scopeOf(method, path)
    if (![needs, 'tweet.read', 'users.read'].every((scope) => scope === null || grant.scopes.includes(scope)))
      return problem(FORBIDDEN)
    const json = method === 'POST' ? validBody(path, body) : {}
    if (json === null) return problem({ ...FORBIDDEN, title: 'Invalid Request', status: 400, type: 'invalid-request' })
    if (path.startsWith('/2/users/') && method !== 'GET' && !path.startsWith(`/2/users/${grant.user}/`))
      return problem(FORBIDDEN)
    if (place === 'GET /2/users/me') return Response.json({ data: this.me })
    if (/^GET \/2\/users\/by\/username\//.test(place)) return this.user('username', path.split('/').at(-1) ?? '')
    if (/^GET \/2\/users\/\d+$/.test(place)) return this.user('id', path.split('/').at(-1) ?? '')
    if (/^POST .*\/following$/.test(place)) return Response.json({ data: { following: true, pending_follow: false } })
    if (/^DELETE .*\/following\/\d+$/.test(place)) return Response.json({ data: { following: false } })
    if (/^POST .*\/likes$/.test(place)) return Response.json({ data: { liked: true } })
    if (/^DELETE .*\/likes\/\d+$/.test(place)) return Response.json({ data: { liked: false } })
    if (place === 'POST /2/tweets') return this.posted(grant.user, json)
    if (/^DELETE \/2\/tweets\/\d+$/.test(place)) {
      this.posts.delete(path.split('/').at(-1) ?? '')
      return Response.json({ data: { deleted: true } })
    }
    const conversation = /^\/2\/dm_conversations\/with\/(\d+)\/(messages|dm_events)$/.exec(path)
    if (method === 'POST' && conversation) return this.sent(conversation[1] ?? '', String(json['text']))
    if (method === 'GET' && (conversation || path === '/2/dm_events'))
      return this.events(query, conversation?.[1] ?? null, grant.user)
    return new Response(null, { status: 404 })
  }

  private user(by: 'id' | 'username', value: string): Response {
    const user = USERS.find((each) => each[by].toLowerCase() === value.toLowerCase())
    return Response.json(user ? { data: user } : noSuchUser(value))
  }

  private posted(author: string, { text }: Readonly<Record<string, unknown>>): Response {
    const said = String(text)
    if (this.postsSaying(said) > 0) return problem(DUPLICATE)
    const id = this.newId()
    this.posts.set(id, { author, text: said })
    return Response.json({ data: { edit_history_tweet_ids: [id], id, text: said } }, { status: 201 })
  }

  private sent(to: string, text: string): Response {
    const id = this.newId()
    this.messages.unshift({ id, to, text })
    return Response.json({ data: { dm_conversation_id: `${ME.id}-${to}`, dm_event_id: id } }, { status: 201 })
  }

  private events(query: URLSearchParams, to: string | null, sender: string): Response {
    const most = Number(query.get('max_results'))
    if (!(most >= 1 && most <= 100)) throw new Error('max_results must be 1 to 100')
    const found = this.messages.filter((message) => to === null || message.to === to)
    const from = Number(query.get('pagination_token') ?? 0)
    const page = found.slice(from, from + most)
    const data = page.map(({ id, text, to: recipient }) => ({
      id,
      event_type: 'MessageCreate',
      text,
      sender_id: sender,
      dm_conversation_id: `${sender}-${recipient}`,
      created_at: '2026-11-21T12:00:00.000Z',
    }))
    const next = from + most < found.length ? { next_token: String(from + most) } : {}
    return Response.json({ ...(data.length > 0 && { data }), meta: { result_count: data.length, ...next } })
  }

  private newId(): string {
    this.ids += 1n
    return this.ids.toString()
  }
}

function scopeOf(method: string, path: string): string | null {
  if (path.includes('/following')) return 'follows.write'
  if (path.includes('/likes')) return 'like.write'
  if (path.startsWith('/2/tweets')) return 'tweet.write'
  if (path.includes('dm_')) return method === 'POST' ? 'dm.write' : 'dm.read'
  return null
}

function validBody(path: string, body: string): Readonly<Record<string, unknown>> | null {
  const schema = SCHEMAS[path.split('/').at(-1) ?? ''] ?? {}
  const json = JSON.parse(body) as Record<string, unknown>
  return Object.entries(json).every(([name, value]) => schema[name]?.(value)) ? json : null
}

export function problem(body: object, status = Number(Reflect.get(body, 'status')), headers = {}): Response {
  return Response.json(body, { status, headers: { 'content-type': 'application/problem+json', ...headers } })
}

export const tooMany = (body: object = TOO_MANY) =>
  problem(body, 429, { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(inFifteenMinutes()) })

export const creditsDepleted = () => problem(CREDITS_DEPLETED, 402)

export function inFifteenMinutes(): number {
  return Math.floor(Date.now() / 1000) + 900
}

function secret(): string {
  return randomBytes(24).toString('base64url')
}
