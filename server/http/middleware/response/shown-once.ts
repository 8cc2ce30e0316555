import type { Context } from 'elysia'

/** A 201 with a secret that is shown once: no cache may keep it. */
export function shownOnce<T>(set: Context['set'], answer: T): T {
  set.status = 201
  set.headers['cache-control'] = 'no-store'
  return answer
}
