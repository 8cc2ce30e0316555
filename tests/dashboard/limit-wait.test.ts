import { expect, test } from 'bun:test'
import { ApiFailure } from '../../dashboard/src/api/client/failure'
import { queryClient } from '../../dashboard/src/api/client/query-client'

const { queries, mutations } = queryClient.getDefaultOptions()
const failed = (status: number, retryAfterSeconds: number | null = null) =>
  new ApiFailure({ status, code: 'rate_limit_exceeded', message: 'full', retryAfterSeconds })

function retried(failures: number, error: Error): number | null {
  const { retry, retryDelay } = queries ?? {}
  if (typeof retry !== 'function' || typeof retryDelay !== 'function') throw new Error('the client retries nothing')
  return retry(failures, error) ? retryDelay(failures, error) : null
}

test('a read that meets its limit comes again when the server says, twice at most, and not all tabs at once', () => {
  const waits = Array.from({ length: 50 }, () => retried(0, failed(429, 7)) ?? 0)
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(7_000)
  expect(Math.max(...waits)).toBeLessThanOrEqual(9_000)
  expect(new Set(waits).size).toBeGreaterThan(1)
  expect(retried(2, failed(429, 7))).toBeNull()
})

test('another refusal is final, as is a wait of hours, and a write is never sent twice', () => {
  expect(retried(0, failed(403))).toBeNull()
  expect(retried(0, failed(429, 3_600))).toBeNull()
  expect(retried(1, failed(503))).toBe(1_000)
  expect(mutations?.retry).toBe(false)
})
