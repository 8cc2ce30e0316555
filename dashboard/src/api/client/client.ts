import type { Treaty } from '@elysiajs/eden'
import type { App } from '../../../../server/app.ts'
import { workspaceHeader } from '../../session-state.ts'
import { type BatchAnswer, parsedResponse, read } from './batch.ts'
import { noResponse, parseFailure } from './failure.ts'

const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'patch', 'put', 'delete'])

/**
 * The dashboard's API client, typed by the server as Eden's own, which sends no more than this but is ten times as large: it also
 * knows files, streams and WebSockets, and turns any text that looks like a date into a Date, such as a key named 2026-11-21.
 */
export const api = route(['/api']) as Treaty.Create<App>['api']

/** The members of a route are longer routes; an id is given as `({ id })`; a method sends the request. */
function route(path: readonly string[]): unknown {
  return new Proxy(() => undefined, {
    get: (_target, name) => route([...path, String(name)]),
    apply(_target, _self, [first, second]: [unknown, unknown]) {
      const method = path.at(-1) ?? ''
      // An id with a slash, such as that of an app that is a URL, would be another path.
      if (!METHODS.has(method))
        return route([...path, ...Object.values(Object(first)).map((id) => encodeURIComponent(String(id)))])
      const url = path.slice(0, -1).join('/')
      if (method === 'get') return answerOf(read(withQuery(url, Object(first).query)))
      return send(url, method, Object(second).query, first)
    },
  })
}

function withQuery(path: string, query: unknown): string {
  const search = new URLSearchParams(
    Object.entries(Object(query)).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, String(value)]],
    ),
  ).toString()
  return search === '' ? path : `${path}?${search}`
}

function send(path: string, method: string, query: unknown, body: unknown) {
  const response = fetch(withQuery(path, query), {
    method: method.toUpperCase(),
    headers: { ...workspaceHeader(), ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return answerOf(response.then(parsedResponse))
}

async function answerOf(answer: Promise<BatchAnswer>) {
  const { status, value } = await answer
  return status >= 200 && status < 300 ? { data: value, error: null } : { data: null, error: { status, value } }
}

/** The data of a successful response. Throws `ApiFailure` for any other. */
export async function unwrap<R extends { data: unknown; error: unknown }>(
  call: Promise<R>,
): Promise<NonNullable<R['data']>> {
  const { data, error } = await call.catch(() => {
    throw noResponse()
  })
  if (error !== null && error !== undefined) {
    const status = Reflect.get(Object(error), 'status')
    const value = Reflect.get(Object(error), 'value')
    throw typeof status === 'number' ? parseFailure(status, value) : noResponse()
  }
  if (data === null || data === undefined) throw noResponse()
  return data
}

/** The members that are neither undefined nor null, for a query. */
export function defined<V>(values: Readonly<Record<string, V | undefined | null>>): Record<string, V> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, V] => entry[1] !== undefined && entry[1] !== null),
  )
}

/** Calls a JSON route that the types do not cover, such as those of the sign-in library. Throws `ApiFailure`. */
export async function callJson(path: string, init: { method?: string; body?: unknown } = {}): Promise<unknown> {
  const response = await fetch(path, {
    method: init.method ?? (init.body === undefined ? 'GET' : 'POST'),
    headers: {
      accept: 'application/json',
      ...workspaceHeader(),
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
  }).catch(() => {
    throw noResponse()
  })
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok) throw parseFailure(response.status, body, response.headers.get('retry-after'))
  return body
}
