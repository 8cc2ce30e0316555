import { Elysia } from 'elysia'
import type { Keys } from '../../core/accounts/keys'
import type { ApiKey } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import type { Result } from '../../core/result'
import { documented } from '../docs/documented'
import { KEY_DOCS } from '../docs/key-docs'
import { notFound, taken } from '../failures'
import { readJson } from '../json-body'
import { KEY_LIST_QUERY, keyPage } from '../key-list'
import { keyRecord } from '../key-record'
import { type OwnerSessions, SIGNED_IN_TODAY } from '../owner-session'
import { queryOf } from '../plain-input'

/** Owners make and change keys (spec 2.1, 5.4, spec-answers 3). A secret is answered once, and never stored by a cache. */
export function keyRoutes(parts: {
  owners: OwnerSessions
  keys: Keys
  credentials: CredentialStore
  ledger: Ledger
  now: () => number
}) {
  const { owners, keys, credentials, ledger, now } = parts
  const recent = (request: Request) => owners.owner(request, SIGNED_IN_TODAY)
  const record = (key: ApiKey) => keyRecord(key, { credentials, ledger, now: now() })
  const changed = async (outcome: Result<ApiKey, Failure>) => ({ key: await record(taken(outcome)) })
  return new Elysia({ name: 'keys', prefix: '/api/keys' })
    .get(
      '',
      async ({ request }) => {
        const { accountId } = await owners.owner(request)
        const query = queryOf(KEY_LIST_QUERY, request)
        const page = await keyPage(accountId, query, { credentials, ledger, now: now() })
        return { keys: await Promise.all(page.keys.map(record)), counts: page.counts, next_cursor: page.next }
      },
      documented(KEY_DOCS.list, KEY_LIST_QUERY),
    )
    .post(
      '',
      async ({ request, set }) => {
        const { key, secret } = taken(await keys.create(await recent(request), taken(await readJson(request))))
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { key: await record(key), secret }
      },
      { parse: 'none', ...documented(KEY_DOCS.create) },
    )
    .get(
      '/:id',
      async ({ request, params }) => {
        const key = await keys.find((await owners.owner(request)).accountId, params.id)
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
        const { key, secret } = taken(
          await keys.rotate(await recent(request), params.id, taken(await readJson(request))),
        )
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
      async ({ request, params }) => changed(await keys.revoke(await recent(request), params.id)),
      documented(KEY_DOCS.revoke),
    )
}
