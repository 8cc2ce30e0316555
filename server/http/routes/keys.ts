import { Elysia } from 'elysia'
import type { Keys } from '../../core/accounts/keys'
import type { ParameterTable } from '../../core/catalogue/parameters'
import { type ApiKey, keyStatus } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import type { Result } from '../../core/result'
import { documented } from '../docs/documented'
import { KEY_DOCS } from '../docs/key-docs'
import { Failed, notFound } from '../failures'
import { readJson } from '../json-body'
import { keyRecord } from '../key-record'
import type { OwnerSessions } from '../owner-session'
import { PAGE_QUERY, queryOf, refuseCursor } from '../plain-input'

const LIST_QUERY = {
  ...PAGE_QUERY,
  status: {
    in: 'query',
    kind: 'enum',
    values: ['active', 'disabled', 'expired', 'exhausted', 'revoked'],
    description: 'Only keys with this status. Revoked keys are listed only when asked for.',
  },
} as const satisfies ParameterTable

/** Owners make and change keys (spec 2.1, 5.4, spec-answers 3). A secret is answered once, and never stored by a cache. */
export function keyRoutes(parts: {
  owners: OwnerSessions
  keys: Keys
  credentials: CredentialStore
  ledger: Ledger
  now: () => number
}) {
  const { owners, keys, credentials, ledger, now } = parts
  const record = (key: ApiKey) => keyRecord(key, { credentials, ledger, now: now() })
  const changed = async (outcome: Result<ApiKey, Failure>) => ({ key: await record(taken(outcome)) })
  return new Elysia({ name: 'keys', prefix: '/api/keys' })
    .get(
      '',
      async ({ request }) => {
        const { accountId } = await owners.owner(request)
        const query = queryOf(LIST_QUERY, request)
        const listed: Awaited<ReturnType<typeof record>>[] = []
        const all = await credentials.byAccount(accountId)
        const start = query.cursor === undefined ? 0 : all.findIndex((key) => key.id === query.cursor) + 1
        if (query.cursor !== undefined && start === 0) throw refuseCursor(query.cursor)
        for (const key of all.slice(start)) {
          const pool = await ledger.pool(key.poolId)
          const status = pool && keyStatus(key, pool, now())
          if (query.status ? status !== query.status : status === 'revoked') continue
          if (listed.length === query.limit) return { keys: listed, next_cursor: listed.at(-1)?.id ?? null }
          listed.push(await record(key))
        }
        return { keys: listed, next_cursor: null }
      },
      documented(KEY_DOCS.list, LIST_QUERY),
    )
    .post(
      '',
      async ({ request, set }) => {
        const owner = await owners.owner(request)
        const { key, secret } = taken(await keys.create(owner, taken(await readJson(request))))
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { key: await record(key), secret }
      },
      { parse: 'none', ...documented(KEY_DOCS.create) },
    )
    .get(
      '/:id',
      async ({ request, params }) => {
        const { accountId } = await owners.owner(request)
        const key = await keys.find(accountId, params.id)
        if (!key) throw notFound('No such key.')
        return { key: await record(key) }
      },
      documented(KEY_DOCS.get),
    )
    .patch(
      '/:id',
      async ({ request, params }) => {
        const owner = await owners.owner(request)
        return changed(await keys.change(owner, params.id, taken(await readJson(request))))
      },
      { parse: 'none', ...documented(KEY_DOCS.change) },
    )
    .post(
      '/:id/rotate',
      async ({ request, params, set }) => {
        const owner = await owners.owner(request)
        const { key, secret } = taken(await keys.rotate(owner, params.id, taken(await readJson(request))))
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { key: await record(key), secret }
      },
      { parse: 'none', ...documented(KEY_DOCS.rotate) },
    )
    .post(
      '/:id/disable',
      async ({ request, params }) => changed(await keys.disable(await owners.owner(request), params.id)),
      documented(KEY_DOCS.disable),
    )
    .post(
      '/:id/enable',
      async ({ request, params }) => changed(await keys.enable(await owners.owner(request), params.id)),
      documented(KEY_DOCS.enable),
    )
    .post(
      '/:id/revoke',
      async ({ request, params }) => changed(await keys.revoke(await owners.owner(request), params.id)),
      documented(KEY_DOCS.revoke),
    )
}

function taken<T>(outcome: Result<T, Failure>): T {
  if (!outcome.ok) throw new Failed(outcome.error)
  return outcome.value
}
