import { expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import type { MemberList, SentInvitation } from '../../server/http/account/workspace-record'
import type { KeyRecord } from '../../server/http/keys/record'
import type { Harness } from '../support/harness'
import { reconcile } from '../support/reconcile'

export const IMAGES = '/apis/v1/websearch/images/search?q=card'

export type Owner = Awaited<ReturnType<Harness['owner']>>

export interface MadeKey {
  readonly key: KeyRecord
  readonly secret: string
}

export interface KeyPage {
  readonly keys: readonly KeyRecord[]
  readonly next_cursor: string | null
}

export interface Refusal {
  readonly status: number
  readonly type: string
  readonly code: string
  readonly message: string
  readonly param?: string
  readonly details?: readonly { readonly param: string; readonly code: string; readonly rule: string }[]
}

export interface AccountBody {
  readonly id: string
  readonly operator: boolean
  readonly tier: string
  readonly balance_micros_usd: number
  readonly held_micros_usd: number
  readonly credit_micros_usd: number
  readonly topped_up_micros_usd: number
  readonly events_mark: string
}

/** The JSON of an answer that must have this status. */
export async function read<T = unknown>(answer: Response | Promise<Response>, status = 200): Promise<T> {
  const given = await answer
  const text = await given.text()
  expect(`${given.status} ${text}`).toStartWith(`${status} `)
  return JSON.parse(text) as T
}

/** The one error shape, with its status. */
export async function refusalOf(answer: Response | Promise<Response>): Promise<Refusal> {
  const given = await answer
  const { error } = (await given.json()) as { error: Omit<Refusal, 'status'> & { request_id: string } }
  expect(error.request_id).toBe(given.headers.get('x-gateway-request-id') ?? error.request_id)
  return { status: given.status, ...error }
}

/** The secret in the link of an invitation. */
export const tokenIn = (link: string | null) => link?.split('#token=')[1] ?? ''

export const invited = (by: Owner, email: string, role: string) =>
  read<SentInvitation>(by.api('/api/invitations', { email, role }), 201)

export const membersOf = async (who: Owner) => (await read<MemberList>(who.api('/api/members'))).members

/** A new user who accepted an invitation to the workspace of `by`. */
export async function joined(gateway: Harness, by: Owner, role: string, email?: string): Promise<Owner> {
  const person = await gateway.owner(email)
  const { link } = await invited(by, person.email, role)
  await read(person.api('/api/invitations/accept', { token: tokenIn(link) }))
  return person
}

let made = 0

/** An owner's changes to keys over HTTP; every call must succeed. Keys without a name get one of their own. */
export function keyBench(owner: Owner) {
  const one = async (answer: Response | Promise<Response>) => (await read<{ key: KeyRecord }>(answer)).key
  return {
    create: (body: Record<string, unknown> = {}) =>
      read<MadeKey>(owner.api('/api/keys', { name: `key ${++made}`, ...body }), 201),
    get: (id: string) => one(owner.api(`/api/keys/${id}`)),
    change: (id: string, body: unknown) => one(owner.api(`/api/keys/${id}`, body, 'PATCH')),
    rotate: (id: string, body?: unknown) => read<MadeKey>(owner.api(`/api/keys/${id}/rotate`, body, 'POST'), 201),
    move: (id: string, action: 'disable' | 'enable' | 'revoke') =>
      one(owner.api(`/api/keys/${id}/${action}`, undefined, 'POST')),
    list: (query = '') => read<KeyPage>(owner.api(`/api/keys${query}`)),
  }
}

/** Status and code of one priced call. */
export async function callWith(gateway: Harness, secret: string, path = IMAGES): Promise<string> {
  const answer = await gateway.as(secret, path)
  if (answer.status === 200) return '200'
  const { error } = (await answer.json()) as { error: { code: string } }
  return `${answer.status} ${error.code}`
}

export interface AuditRow {
  readonly at: number
  readonly actor_kind: string
  readonly actor_id: string
  readonly address: string | null
  readonly account_id: string | null
  readonly key_id: string | null
  readonly action: string
  readonly detail: string
  readonly before: string | null
}

/** The audit log, oldest first. */
export function auditRows(gateway: Harness): Promise<AuditRow[]> {
  return gateway.core.stores.db.all<AuditRow>(sql`SELECT * FROM audit_log ORDER BY id`)
}

/** Ends a file's gateway: what it left in its database must agree with itself. */
export async function closeReconciled(gateway: Harness): Promise<void> {
  await gateway.close(true)
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  await rm(gateway.folder, { recursive: true, force: true })
}

/** As if every owner had just signed in: a test that moves the clock by days goes on without hashing passwords. */
export async function signedInJustNow(gateway: Harness): Promise<void> {
  await gateway.core.stores.db.run(sql`UPDATE identity_session SET created_at = ${gateway.clock.now()}`)
}
