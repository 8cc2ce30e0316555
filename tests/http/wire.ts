import { expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { Harness } from '../support/harness'
import { reconcile } from '../support/reconcile'

export const IMAGES = '/apis/v1/websearch/images/search'
export const CONTEXT = '/apis/v1/websearch/llm/context'
/** A good call of each data endpoint. */
export const IMAGES_CALL = `${IMAGES}?q=card`
export const CONTEXT_CALL = `${CONTEXT}?q=card`
/** The price of a data endpoint, 0.005 USD (spec 1.3). */
export const PRICE = 5_000

export interface WrongParameter {
  readonly param: string
  readonly in: 'query' | 'header' | 'body'
  readonly code: string
  readonly rule: string
  readonly received: string | null
}

/** `error` of the one error shape (spec D2). */
export interface Refusal {
  readonly status: number
  readonly type: string
  readonly code: string
  readonly message: string
  readonly request_id: string
  readonly param?: string
  readonly limit_source?: string
  readonly retry_after?: number
  readonly price?: { readonly mode: string; readonly currency: string; readonly amount: string }
  readonly details?: readonly WrongParameter[]
}

/** Reads a failure, and holds it to what every failure must have: one shape, our request id in it, stored by no cache. */
export async function refusalOf(given: Response | Promise<Response>): Promise<Refusal> {
  const answer = await given
  const body = (await answer.json()) as { error: Omit<Refusal, 'status'> }
  expect(Object.keys(body)).toEqual(['error'])
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(body.error.request_id).toBe(String(answer.headers.get('x-gateway-request-id')))
  return { status: answer.status, ...body.error }
}

/** Status and code only, for tables. */
export async function verdictOf(given: Response | Promise<Response>): Promise<string> {
  const { status, code } = await refusalOf(given)
  return `${status} ${code}`
}

/** Where all rows of the log stand that were noted so far: they are best effort, so a reader waits for them. */
export async function logWritten(gateway: Harness): Promise<void> {
  await gateway.core.stores.journal.drained()
}

/** Closes, compares every sum in the database that is left, and removes it. */
export async function endAndReconcile(gateway: Harness): Promise<void> {
  await gateway.close(true)
  const { problems } = await reconcile(gateway.databaseFile)
  await rm(gateway.folder, { recursive: true, force: true })
  expect(problems).toEqual([])
}
