import type { AppGrantStore } from '../../core/accounts/app-grant'
import { DEFAULT_GRACE_SECONDS, type KeyOwner, type Keys } from '../../core/accounts/keys'
import type { MemberStore } from '../../core/accounts/members'
import { mayDo } from '../../core/accounts/roles'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { ApiKey } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Failure } from '../../core/failure'
import { KeyedMutex } from '../../core/keyed-mutex'
import type { Ledger } from '../../core/ledger/ledger'
import { ZERO } from '../../core/money'
import type { Result } from '../../core/result'
import { appDocs } from '../account/app-docs'
import { callingApp } from '../middleware/caller/calling-app'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { queryOf } from '../middleware/input/list-query'
import { readBody } from '../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { shownOnce } from '../middleware/response/shown-once'
import { documented, type Hook } from '../openapi/documented'
import { allowed, appsAccess, type Id, type MirroredAccess, ownersAccess } from '../routing/api-access'
import { costing, page } from '../routing/cost'
import { freeEndpoint } from '../routing/endpoint'
import { APP_KEY_DOCS, KEY_DOCS, type Mirrored } from './docs'
import { KEY_LIST_QUERY, keyPage } from './key-list'
import {
  type DisabledKeys,
  type KeyPage,
  type KeyRecord,
  KeysToDisable,
  type KeyWithSecret,
  keyChangeForm,
  keyRecord,
  newKeyForm,
  type OneKey,
  Rotation,
} from './record'

export interface KeyRouteParts {
  readonly owners: OwnerSessions
  readonly keys: Keys
  readonly credentials: CredentialStore
  readonly ledger: Ledger
  readonly apps: Pick<AppGrantStore, 'byId'>
  readonly members: Pick<MemberStore, 'ofAccount'>
  readonly now: () => number
}

const SCOPE = 'keys:write'
const APP_KEYS = freeEndpoint('keys', SCOPE, { appsOnly: true })

/** Owners create and change keys (spec 2.1, 5.4, spec D3). A secret is returned once and never cached. */
export function keyRoutes(parts: KeyRouteParts) {
  const owners = ownersAccess(parts.owners, 'keys')
  return routeGroup({ name: 'keys', prefix: '/api/keys' }).use(
    mirroredRoutes('owners-keys', parts, owners, (name, ...tables) => documented(KEY_DOCS[name], ...tables)),
  )
}

/** The same for apps with `keys:write` (spec D10), never for API keys. Gated, so responses carry the limit headers. */
export function appKeyRoutes(parts: Omit<KeyRouteParts, 'owners'>) {
  const apps = appsAccess(APP_KEYS, (context) => appOwner(context, parts.ledger))
  return routeGroup({ name: 'app-keys', prefix: '/v1/keys' }).use(
    mirroredRoutes('apps-keys', parts, apps, (name, ...tables) =>
      documented(appDocs(APP_KEY_DOCS[name], SCOPE), ...tables),
    ),
  )
}

/** The documentation of each route, in the owner's or the app's version. */
type MirroredDocs = (name: Mirrored, ...tables: readonly ParameterTable[]) => Hook

function mirroredRoutes(
  name: string,
  parts: Omit<KeyRouteParts, 'owners'>,
  owners: MirroredAccess<KeyOwner>,
  docs: MirroredDocs,
) {
  const { keys, credentials, now } = parts
  // One at a time for each account: a hundred at once would be in memory together.
  const lists = new KeyedMutex()
  const { records, record, changed } = recordsFor(parts)
  return routeGroup({ name })
    .get(
      '',
      ...allowed(
        owners.read,
        costing(page, docs('list', KEY_LIST_QUERY)),
        async ({ owner, accountId, context }): Promise<KeyPage> => {
          const query = queryOf(KEY_LIST_QUERY, context)
          return lists.take(accountId, async () => {
            const { rows, next, counts, tags } = await keyPage(owner, query, credentials, now())
            return { keys: await records(owner, rows), counts, tags: [...tags], next_cursor: next }
          })
        },
      ),
    )
    .post(
      '',
      ...allowed(owners.recent, docs('create'), async ({ owner, context, set }): Promise<KeyWithSecret> => {
        const { key, secret } = taken(await keys.create(owner, newKeyForm(taken(await readJson(context)))))
        return shownOnce(set, { key: await record(owner, key), secret })
      }),
    )
    .post(
      '/disable',
      ...allowed(owners.write, docs('disableMany'), async ({ owner, context }) =>
        disabledKeys(await keys.disableMany(owner, (await readBody(KeysToDisable, context)).ids)),
      ),
    )
    .get(
      '/:id',
      ...allowed(owners.read, docs('get'), async ({ owner }, { id }: Id): Promise<OneKey> => {
        const key = await keys.find(owner, id)
        if (!key) throw notFound('This key does not exist.')
        return { key: await record(owner, key) }
      }),
    )
    .patch(
      '/:id',
      ...allowed(owners.write, docs('change'), async ({ owner, context }, { id }: Id) =>
        changed(owner, await keys.change(owner, id, keyChangeForm(taken(await readJson(context))))),
      ),
    )
    .post(
      '/:id/rotate',
      ...allowed(owners.recent, docs('rotate'), async ({ owner, context, set }, { id }: Id): Promise<KeyWithSecret> => {
        const { grace_period_seconds: grace = DEFAULT_GRACE_SECONDS } = await readBody(Rotation, context, {})
        const { key, secret } = taken(await keys.rotate(owner, id, grace))
        return shownOnce(set, { key: await record(owner, key), secret })
      }),
    )
    .post(
      '/:id/disable',
      ...allowed(owners.write, docs('disable'), async ({ owner }, { id }: Id) =>
        changed(owner, await keys.disable(owner, id)),
      ),
    )
    .post(
      '/:id/enable',
      ...allowed(owners.write, docs('enable'), async ({ owner }, { id }: Id) =>
        changed(owner, await keys.enable(owner, id)),
      ),
    )
    .post(
      '/:id/revoke',
      ...allowed(owners.recent, docs('revoke'), async ({ owner }, { id }: Id) =>
        changed(owner, await keys.revoke(owner, id)),
      ),
    )
}

/** Keys as their reader sees them. */
function recordsFor(parts: Omit<KeyRouteParts, 'owners'>) {
  const records = async (owner: KeyOwner, rows: readonly ApiKey[]): Promise<KeyRecord[]> => {
    const holder = await holdersOf(owner, rows, parts)
    const at = { ...parts, now: parts.now() }
    return Promise.all(rows.map(async (key) => ({ ...(await keyRecord(key, at)), ...holder(key) })))
  }
  const record = async (owner: KeyOwner, key: ApiKey): Promise<KeyRecord> => {
    const [one] = await records(owner, [key])
    if (!one) throw new Error('a key has a record')
    return one
  }
  const changed = async (owner: KeyOwner, outcome: Result<ApiKey, Failure>): Promise<OneKey> => ({
    key: await record(owner, taken(outcome)),
  })
  return { records, record, changed }
}

/** Whose keys are, for members who see those of others; nothing for the rest and for apps. */
async function holdersOf(
  { accountId, member, app }: KeyOwner,
  keys: readonly ApiKey[],
  { credentials, members }: Pick<KeyRouteParts, 'credentials' | 'members'>,
): Promise<(key: ApiKey) => Pick<KeyRecord, 'made_by'>> {
  if (app || !member || !mayDo(member.role, 'members:read')) return () => ({})
  const ids = keys.map(({ id }) => id)
  const [makers, all] = await Promise.all([credentials.makersOf(accountId, ids), members.ofAccount(accountId)])
  const byUser = new Map(all.map(({ userId, id, name }) => [userId, { id, name }]))
  return ({ id }) => ({ made_by: byUser.get(makers.get(id) ?? '') ?? null })
}

function disabledKeys(results: Awaited<ReturnType<Keys['disableMany']>>): DisabledKeys {
  return {
    results: results.map(({ id, refusal }) => ({
      id,
      disabled: refusal === null,
      error: refusal && { code: refusal.code, message: refusal.message },
    })),
  }
}

/** The owner on whose behalf an app changes keys. The audit log names the app grant. Throws if the caller is not an app. */
async function appOwner(context: RequestContext, ledger: Ledger): Promise<KeyOwner> {
  const { account, grant, role, actor } = callingApp(
    context,
    'API keys cannot manage keys. Use an access token with keys:write, or the dashboard.',
  )
  const balance = await ledger.balance(account.id)
  return {
    accountId: account.id,
    member: { userId: grant.userId, role },
    tier: { ...account, toppedUp: balance?.toppedUp ?? ZERO },
    actor,
    app: grant,
  }
}
