import type { AppGrantStore } from '../../core/accounts/app-grant'
import { DEFAULT_GRACE_SECONDS, type KeyOwner, type Keys } from '../../core/accounts/keys'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { ApiKey } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { ZERO } from '../../core/money'
import type { Result } from '../../core/result'
import { appDocs } from '../account/app-docs'
import { callingApp } from '../middleware/caller/calling-app'
import { SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { queryOf } from '../middleware/input/list-query'
import { readBody } from '../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { declared, freeEndpoint, gatedReply } from '../routing/endpoint'
import { APP_KEY_DOCS, KEY_DOCS, type Mirrored } from './docs'
import { KEY_LIST_QUERY, keyPage } from './key-list'
import {
  type DisabledKeys,
  type KeyPage,
  KeysToDisable,
  type KeyWithSecret,
  keyChangeForm,
  keyRecord,
  newKeyForm,
  type OneKey,
  Rotation,
} from './record'

export interface KeyRouteParts {
  /** `within`: the maximum age of the sign-in, in milliseconds. Ignored for apps, which act with their token. */
  readonly owners: { owner(context: RequestContext, within?: number): Promise<KeyOwner> }
  readonly keys: Keys
  readonly credentials: CredentialStore
  readonly ledger: Ledger
  readonly apps: Pick<AppGrantStore, 'byId'>
  readonly now: () => number
}

const SCOPE = 'keys:write'
const APP_KEYS = freeEndpoint('keys', SCOPE, { appsOnly: true })

/** Owners create and change keys (spec 2.1, 5.4, spec-answers 3). A secret is returned once and never cached. */
export function keyRoutes(parts: KeyRouteParts) {
  return keysUnder('/api/keys', parts, (name, ...tables) => documented(KEY_DOCS[name], ...tables))
}

/** The same for apps with `keys:write` (spec-answers 10), never for API keys. Gated, so responses carry the limit headers. */
export function appKeyRoutes(parts: Omit<KeyRouteParts, 'owners'>) {
  const owners = { owner: (context: RequestContext) => appOwner(context, parts.ledger) }
  return routeGroup({ name: 'app-keys' })
    .mapResponse(gatedReply)
    .use(
      keysUnder('/v1/keys', { ...parts, owners }, (name, ...tables) =>
        declared(APP_KEYS, appDocs(APP_KEY_DOCS[name], SCOPE), ...tables),
      ),
    )
}

/** The documentation of each route, in the owner's or the app's version. */
type MirroredDocs = (name: Mirrored, ...tables: readonly ParameterTable[]) => ReturnType<typeof documented>

function keysUnder<P extends string>(prefix: P, parts: KeyRouteParts, docs: MirroredDocs) {
  const { owners, keys, credentials, ledger, apps, now } = parts
  const recent = (context: RequestContext) => owners.owner(context, SIGNED_IN_TODAY)
  const record = (key: ApiKey) => keyRecord(key, { credentials, ledger, apps, now: now() })
  const changed = async (outcome: Result<ApiKey, Failure>): Promise<OneKey> => ({ key: await record(taken(outcome)) })
  return routeGroup({ name: `keys under ${prefix}`, prefix })
    .get(
      '',
      async ({ context }): Promise<KeyPage> => {
        const { accountId } = await owners.owner(context)
        const query = queryOf(KEY_LIST_QUERY, context)
        const page = await keyPage(accountId, query, { credentials, ledger, now: now() })
        const { counts, tags, next } = page
        return { keys: await Promise.all(page.keys.map(record)), counts, tags, next_cursor: next }
      },
      docs('list', KEY_LIST_QUERY),
    )
    .post(
      '',
      async ({ context, set }): Promise<KeyWithSecret> => {
        const { key, secret } = taken(
          await keys.create(await recent(context), newKeyForm(taken(await readJson(context)))),
        )
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { key: await record(key), secret }
      },
      { parse: 'none', ...docs('create') },
    )
    .post(
      '/disable',
      async ({ context }): Promise<DisabledKeys> => {
        const owner = await owners.owner(context)
        return disabledKeys(await keys.disableMany(owner, (await readBody(KeysToDisable, context)).ids))
      },
      { parse: 'none', ...docs('disableMany') },
    )
    .get(
      '/:id',
      async ({ context, params }): Promise<OneKey> => {
        const key = await keys.find((await owners.owner(context)).accountId, params.id)
        if (!key) throw notFound('This key does not exist.')
        return { key: await record(key) }
      },
      docs('get'),
    )
    .patch(
      '/:id',
      async ({ context, params }) => {
        const owner = await owners.owner(context)
        return changed(await keys.change(owner, params.id, keyChangeForm(taken(await readJson(context)))))
      },
      { parse: 'none', ...docs('change') },
    )
    .post(
      '/:id/rotate',
      async ({ context, params, set }): Promise<KeyWithSecret> => {
        const owner = await recent(context)
        const { grace_period_seconds: grace = DEFAULT_GRACE_SECONDS } = await readBody(Rotation, context, {})
        const { key, secret } = taken(await keys.rotate(owner, params.id, grace))
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { key: await record(key), secret }
      },
      { parse: 'none', ...docs('rotate') },
    )
    .post(
      '/:id/disable',
      async ({ context, params }) => changed(await keys.disable(await owners.owner(context), params.id)),
      docs('disable'),
    )
    .post(
      '/:id/enable',
      async ({ context, params }) => changed(await keys.enable(await owners.owner(context), params.id)),
      docs('enable'),
    )
    .post(
      '/:id/revoke',
      async ({ context, params }) => changed(await keys.revoke(await recent(context), params.id)),
      docs('revoke'),
    )
}

function disabledKeys(results: Awaited<ReturnType<Keys['disableMany']>>): DisabledKeys {
  return {
    results: results.map(({ id, refusal }) => ({
      ...{ id, disabled: refusal === null },
      error: refusal && { code: refusal.code, message: refusal.message },
    })),
  }
}

/** The owner on whose behalf an app changes keys. The audit log names the app grant. Throws if the caller is not an app. */
async function appOwner(context: RequestContext, ledger: Ledger): Promise<KeyOwner> {
  const { account, actor } = callingApp(
    context,
    'API keys cannot manage keys. Use an access token with keys:write, or the dashboard.',
  )
  const balance = await ledger.balance(account.id)
  return {
    accountId: account.id,
    tier: { ...account, toppedUp: balance?.toppedUp ?? ZERO },
    actor,
  }
}
