import type { Sample } from '../sample.ts'
import { failureOf, noAnswer } from './failure.ts'

/** Sends a sample from this page, with its own key and without the session's cookie. Throws `ApiFailure` when it is refused. */
export async function runSample({ method, url, headers, body, key }: Sample): Promise<void> {
  const bearer = key && 'secret' in key ? { authorization: `Bearer ${key.secret}` } : {}
  const response = await fetch(url, {
    method,
    credentials: 'omit',
    headers: { ...headers, ...bearer, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw noAnswer()
  })
  if (!response.ok) throw failureOf(response.status, await response.json().catch(() => null))
}
