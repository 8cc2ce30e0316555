import { treaty } from '@elysiajs/eden'
import type { App } from '../../../../server/app.ts'
import { noResponse, parseFailure } from './failure.ts'

/**
 * The server's own API, typed by the server. `parseDate` is off: else every text that looks like a date, a key NAMED
 * 2026-11-21 included, would arrive as a Date.
 */
export const api = treaty<App>(window.location.origin, { parseDate: false }).api

/** The data of an answer; throws `ApiFailure` for every other one. */
export async function unwrap<R extends { data: unknown; error: unknown }>(
  call: Promise<R>,
): Promise<NonNullable<R['data']>> {
  const { data, error } = await call.catch(() => {
    throw noResponse()
  })
  if (error !== null && error !== undefined) {
    const status = Reflect.get(Object(error), 'status')
    const value = Reflect.get(Object(error), 'value')
    // Eden makes a 503 of its own out of a fetch that failed.
    throw value instanceof Error || typeof status !== 'number' ? noResponse() : parseFailure(status, value)
  }
  if (data === null || data === undefined) throw noResponse()
  return data
}

/** A JSON call of a route that the types do not know, such as those of the sign-in library. Throws `ApiFailure`. */
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
