import { isoTime, MINUTE_MS } from '../../../core/clock'
import { jsonText } from '../../../core/json'
import type { Community, Person } from './community'
import type { Fault, Faults } from './faults'
import type { Bearer, Grants } from './grants'

/** Characters of a post. The real network counts some twice; here each counts once. */
const MAX_POST = 280
const MAX_MESSAGE = 10_000

interface Call {
  readonly bearer: Bearer
  readonly query: URLSearchParams
  readonly body: Readonly<Record<string, unknown>>
  /** The parameters captured from the path. */
  readonly ids: readonly string[]
}

interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: RegExp
  readonly scopes: readonly string[]
  /** Requests in 15 minutes. */
  readonly limit: number
  readonly members?: readonly string[]
  answer(call: Call): Promise<Response>
}

const READ = ['tweet.read', 'users.read']

/** The part of the X API v2 that the gateway uses, over the sandbox's own people. */
export class SandboxApi {
  private readonly grants: Grants
  private readonly community: Community
  private readonly faults: Faults
  private readonly windows: RateWindows
  private readonly routes: readonly Route[]

  constructor(parts: { grants: Grants; community: Community; faults: Faults; now: () => number }) {
    this.grants = parts.grants
    this.community = parts.community
    this.faults = parts.faults
    this.windows = new RateWindows(parts.now)
    this.routes = [...this.profiles(), ...this.actions(), ...this.posts(), ...this.messages()]
  }

  async answer(request: Request, path: string, query: URLSearchParams): Promise<Response> {
    const token = /^bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    const bearer = token ? await this.grants.bearer(token) : null
    if (!bearer) return unauthorized()
    const route = this.routes.find(({ method, path: pattern }) => method === request.method && pattern.test(path))
    if (!route) return new Response(null, { status: 404 })
    const fault = await this.faults.take(bearer.user)
    const counted = this.windows.count(bearer.user, String(route.path), route.limit, fault === 'rate_limit')
    const answer = counted.over
      ? problem(429, 'Too Many Requests', 'Too Many Requests')
      : ((fault && broken(fault)) ?? (await this.routed(route, request, path, { bearer, query })))
    for (const [name, value] of Object.entries(counted.headers)) answer.headers.set(name, value)
    if (fault === 'lost_answer') throw new Error('ECONNRESET')
    return answer
  }

  private async routed(
    route: Route,
    request: Request,
    path: string,
    { bearer, query }: Pick<Call, 'bearer' | 'query'>,
  ): Promise<Response> {
    if (![...route.scopes, ...READ].every((scope) => bearer.scopes.includes(scope))) return forbidden()
    const ids = (route.path.exec(path) ?? []).slice(1).map(decodeURIComponent)
    const body = route.members ? await bodyOf(request) : {}
    if (body === null) return invalid('body', '', 'The request body is not a JSON object')
    const stranger = Object.keys(body).find((member) => !route.members?.includes(member))
    if (stranger !== undefined) return invalid(stranger, '', `$.${stranger}: is not defined in the schema`)
    if (path.startsWith('/2/users/') && route.method !== 'GET' && ids[0] !== bearer.user)
      return invalid('id', ids[0] ?? '', 'The `id` query parameter value must be the same as the authenticating user')
    return route.answer({ bearer, query, body, ids })
  }

  private profiles(): readonly Route[] {
    const profile = async (person: Person | null, parameter: string, value: string) =>
      Response.json(person ? { data: profileOf(person) } : { errors: [resourceNotFound('user', parameter, value)] })
    return [
      {
        method: 'GET',
        path: /^\/2\/users\/me$/,
        scopes: [],
        limit: 75,
        answer: async ({ bearer }) => profile(await this.community.personById(bearer.user), 'id', bearer.user),
      },
      {
        method: 'GET',
        path: /^\/2\/users\/by\/username\/([^/]+)$/,
        scopes: [],
        limit: 900,
        answer: async ({ ids: [name = ''] }) => profile(await this.community.personByUsername(name), 'username', name),
      },
      {
        method: 'GET',
        path: /^\/2\/users\/(\d{1,19})$/,
        scopes: [],
        limit: 900,
        answer: async ({ ids: [id = ''] }) => profile(await this.community.personById(id), 'id', id),
      },
    ]
  }

  private actions(): readonly Route[] {
    const { community } = this
    return [
      {
        method: 'POST',
        path: /^\/2\/users\/(\d+)\/following$/,
        scopes: ['follows.write'],
        limit: 50,
        members: ['target_user_id'],
        answer: async ({ bearer, body }) => {
          const target = await community.personById(jsonText(body['target_user_id']))
          if (!target) return notFound('user', 'target_user_id', jsonText(body['target_user_id']))
          if (target.id === bearer.user) return forbidden('You cannot follow yourself.')
          await community.follow(bearer.user, target.id)
          return Response.json({ data: { following: !target.isProtected, pending_follow: target.isProtected } })
        },
      },
      {
        method: 'DELETE',
        path: /^\/2\/users\/(\d+)\/following\/(\d+)$/,
        scopes: ['follows.write'],
        limit: 50,
        answer: async ({ bearer, ids: [, target = ''] }) => {
          if (!(await community.personById(target))) return notFound('user', 'target_user_id', target)
          await community.unfollow(bearer.user, target)
          return Response.json({ data: { following: false } })
        },
      },
      {
        method: 'POST',
        path: /^\/2\/users\/(\d+)\/likes$/,
        scopes: ['like.write'],
        limit: 50,
        members: ['tweet_id'],
        answer: async ({ bearer, body }) => {
          const post = await community.findPost(jsonText(body['tweet_id']))
          if (!post) return notFound('tweet', 'tweet_id', jsonText(body['tweet_id']))
          await community.like(bearer.user, post.id)
          return Response.json({ data: { liked: true } })
        },
      },
      {
        method: 'DELETE',
        path: /^\/2\/users\/(\d+)\/likes\/(\d+)$/,
        scopes: ['like.write'],
        limit: 50,
        answer: async ({ bearer, ids: [, post = ''] }) => {
          if (!(await community.findPost(post))) return notFound('tweet', 'tweet_id', post)
          await community.unlike(bearer.user, post)
          return Response.json({ data: { liked: false } })
        },
      },
    ]
  }

  private posts(): readonly Route[] {
    const { community } = this
    return [
      {
        method: 'POST',
        path: /^\/2\/tweets$/,
        scopes: ['tweet.write'],
        limit: 100,
        members: ['text', 'reply', 'quote_tweet_id'],
        answer: async ({ bearer, body }) => {
          const { text, reply, quote_tweet_id: quoted } = body
          const replied = reply === undefined ? null : jsonText(Reflect.get(Object(reply), 'in_reply_to_tweet_id'))
          if (typeof text !== 'string' || text.trim() === '') return invalid('text', '', 'text is missing')
          if ([...text].length > MAX_POST) return invalid('text', '', `text is longer than ${MAX_POST} characters`)
          for (const id of [replied, quoted === undefined ? null : jsonText(quoted)])
            if (id !== null && !(await community.findPost(id))) return notFound('tweet', 'id', id)
          const id = await community.post(bearer.user, text, replied, quoted === undefined ? null : jsonText(quoted))
          if (id === null) return forbidden('You are not allowed to create a Tweet with duplicate content.')
          return Response.json({ data: { id, text, edit_history_tweet_ids: [id] } }, { status: 201 })
        },
      },
      {
        method: 'DELETE',
        path: /^\/2\/tweets\/(\d+)$/,
        scopes: ['tweet.write'],
        limit: 50,
        answer: async ({ bearer, ids: [id = ''] }) => {
          const post = await community.findPost(id)
          if (!post) return notFound('tweet', 'id', id)
          if (post.author !== bearer.user) return forbidden('You are not authorized to delete this Tweet.')
          await community.remove(id)
          return Response.json({ data: { deleted: true } })
        },
      },
    ]
  }

  private messages(): readonly Route[] {
    const { community } = this
    const list = async ({ bearer, query, ids: [withUser] }: Call) => {
      const max = Number(query.get('max_results') ?? 100)
      const before = query.get('pagination_token')
      if (!(max >= 1 && max <= 100)) return invalid('max_results', String(max), 'max_results is not between 1 and 100')
      const found = await community.messages(bearer.user, max + 1, before, withUser ?? null)
      const page = found.slice(0, max)
      const data = page.map(({ id, text, sender, conversation, at }) => ({
        id,
        text,
        event_type: 'MessageCreate',
        sender_id: sender,
        dm_conversation_id: conversation,
        created_at: isoTime(at),
      }))
      const next = found.length > max ? { next_token: page.at(-1)?.id } : {}
      return Response.json({ ...(data.length > 0 && { data }), meta: { result_count: data.length, ...next } })
    }
    return [
      {
        method: 'POST',
        path: /^\/2\/dm_conversations\/with\/(\d+)\/messages$/,
        scopes: ['dm.write'],
        limit: 15,
        members: ['text'],
        answer: async ({ bearer, body: { text }, ids: [recipient = ''] }) => {
          const person = await community.personById(recipient)
          if (!person) return notFound('user', 'participant_id', recipient)
          if (typeof text !== 'string' || text === '' || [...text].length > MAX_MESSAGE)
            return invalid('text', '', `text is not 1 to ${MAX_MESSAGE} characters long`)
          if (!person.takesMessages || person.id === bearer.user)
            return forbidden('You do not have permission to DM one or more participants.')
          const { id, conversation } = await community.send(bearer.user, recipient, text)
          return Response.json({ data: { dm_conversation_id: conversation, dm_event_id: id } }, { status: 201 })
        },
      },
      { method: 'GET', path: /^\/2\/dm_events$/, scopes: ['dm.read'], limit: 15, answer: list },
      {
        method: 'GET',
        path: /^\/2\/dm_conversations\/with\/(\d+)\/dm_events$/,
        scopes: ['dm.read'],
        limit: 15,
        answer: list,
      },
    ]
  }
}

function profileOf(person: Person) {
  return {
    id: person.id,
    name: person.name,
    username: person.username,
    created_at: isoTime(person.createdAt),
    description: person.description,
    protected: person.isProtected,
    verified: false,
    public_metrics: {
      followers_count: person.followers,
      following_count: person.following,
      tweet_count: person.posts,
      listed_count: 0,
    },
  }
}

/** The response of a fault that prevents the call; null for one that lets it happen. */
function broken(fault: Fault): Response | null {
  switch (fault) {
    case 'refuse':
      return forbidden('You are not permitted to perform this action.')
    case 'only_errors':
      return Response.json({ errors: [resourceNotFound('tweet', 'id', '0')] })
    case 'credits':
      return problem(
        402,
        'CreditsDepleted',
        'Your enrolled account does not have any credits to fulfill this request.',
        {
          type: 'https://api.x.com/2/problems/credits',
        },
      )
    case 'unavailable':
      return problem(503, 'Service Unavailable', 'Service Unavailable')
    case 'rate_limit':
    case 'lost_answer':
      return null
  }
}

async function bodyOf(request: Request): Promise<Readonly<Record<string, unknown>> | null> {
  const value: unknown = await request.json().catch(() => null)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

/** Answers in the shapes of the real network, so that the one adapter reads both. */
function problem(status: number, title: string, detail: string, more: Record<string, unknown> = {}): Response {
  return Response.json(
    { title, type: 'about:blank', status, detail, ...more },
    { status, headers: { 'content-type': 'application/problem+json' } },
  )
}

const unauthorized = () => problem(401, 'Unauthorized', 'Unauthorized')

/** The real network gives no more detail than this for a missing scope. */
const forbidden = (detail = 'Forbidden') => problem(403, 'Forbidden', detail)

function invalid(parameter: string, value: string, message: string): Response {
  return problem(400, 'Invalid Request', 'One or more parameters to your request was invalid.', {
    type: 'https://api.x.com/2/problems/invalid-request',
    errors: [{ parameters: { [parameter]: [value] }, message }],
  })
}

/** The error inside a 200 whose requested resource does not exist. */
function resourceNotFound(resource: 'user' | 'tweet', parameter: string, value: string) {
  const name = parameter === 'username' ? 'username' : 'id'
  return {
    value,
    detail: `Could not find ${resource} with ${name}: [${value}].`,
    title: 'Not Found Error',
    resource_type: resource,
    parameter,
    resource_id: value,
    type: 'https://api.x.com/2/problems/resource-not-found',
  }
}

function notFound(resource: 'user' | 'tweet', parameter: string, value: string): Response {
  return problem(404, 'Not Found Error', '', { ...resourceNotFound(resource, parameter, value), status: 404 })
}

const WINDOW_MS = 15 * MINUTE_MS

/** Requests per user and route in windows of 15 minutes, with the real network's headers. In memory: a restart resets them. */
class RateWindows {
  private readonly now: () => number
  private readonly used = new Map<string, { start: number; count: number }>()

  constructor(now: () => number) {
    this.now = now
  }

  /** Counts one request. `over` when it exceeds the limit; `exhaust` uses up the window, as if many requests had come before. */
  count(
    user: string,
    route: string,
    limit: number,
    exhaust: boolean,
  ): { over: boolean; headers: Record<string, string> } {
    const start = Math.floor(this.now() / WINDOW_MS) * WINDOW_MS
    const name = `${user} ${route}`
    const before = this.used.get(name)
    const count = (before?.start === start ? before.count : 0) + 1
    this.used.set(name, { start, count: exhaust ? (before?.count ?? 0) : count })
    const over = exhaust || count > limit
    return {
      over,
      headers: {
        'x-rate-limit-limit': String(limit),
        'x-rate-limit-remaining': String(over ? 0 : limit - count),
        'x-rate-limit-reset': String((start + WINDOW_MS) / 1000),
      },
    }
  }
}
