import { treaty } from '@elysiajs/eden'
import type { App } from '../../../../server/app.ts'
import { noResponse, parseFailure } from './failure.ts'

const METHODS: ReadonlySet<string | symbol> = new Set(['get', 'post', 'patch', 'put', 'delete'])

/**
 * The dashboard's API client, typed by the server. `parseDate` is off, because it would turn any text that looks like a date into
 * a Date, such as a key named 2026-11-21.
 */
export const api = withEncodedIds(treaty<App>(window.location.origin, { parseDate: false }).api)

/** Eden inserts ids into a path as they are. One with a slash, such as the id of an app that is a URL, would be another path. */
function withEncodedIds<T extends object>(route: T): T {
  return new Proxy(route, {
    get(target, name) {
      const next = Reflect.get(Object(target), name)
      return METHODS.has(name) ? next : withEncodedIds(next)
    },
    apply(target, self, [ids]: [Record<string, unknown>]) {
      const encoded = Object.entries(ids).map(([name, id]) => [name, encodeURIComponent(String(id))])
      return withEncodedIds(Reflect.apply(Object(target), self, [Object.fromEntries(encoded)]))
    },
  })
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
    // Eden reports a failed fetch as a 503 of its own.
    throw value instanceof Error || typeof status !== 'number' ? noResponse() : parseFailure(status, value)
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
    headers: { accept: 'application/json', ...(init.body !== undefined && { 'content-type': 'application/json' }) },
    ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
  }).catch(() => {
    throw noResponse()
  })
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok) throw parseFailure(response.status, body, response.headers.get('retry-after'))
  return body
}
