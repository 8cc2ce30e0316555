import type { Keys } from '../../core/accounts/keys'
import { keyState } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import { failure } from '../../core/failure'
import { SCOPE_MEANINGS, SOCIAL_SCOPES } from '../../core/social/scopes'
import { Failed, notFound } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { OWNER_SOCIAL_DOCS } from './docs'
import { linkWish } from './link-scopes'
import { linkAnswer, NO_NETWORK, type Social, socialRecord, socialRecords } from './record'

/** The social accounts of an owner's keys: see them, link one, unlink one. */
export function ownerSocialRoutes(parts: {
  owners: OwnerSessions
  keys: Keys
  credentials: CredentialStore
  social: Social | null
  now: () => number
}) {
  const { owners, keys, credentials, social, now } = parts
  return routeGroup({ name: 'owner-social', prefix: '/api/social' })
    .get(
      '',
      async ({ context }) => {
        const { accountId } = await owners.owner(context)
        return {
          network: social?.network.name ?? null,
          scopes: SOCIAL_SCOPES.map((name) => ({ name, meaning: SCOPE_MEANINGS[name] })),
          accounts: social ? await socialRecords(social, credentials, accountId, now()) : [],
        }
      },
      documented(OWNER_SOCIAL_DOCS.list),
    )
    .post(
      '',
      async ({ context, set }) => {
        const owner = await owners.owner(context)
        const body = await readJson(context)
        const wish = body.ok ? linkWish(body.value, ['key_id']) : body
        if (!wish.ok) throw new Failed(wish.error)
        if (!social) throw new Failed(NO_NETWORK)
        const key = await keys.find(owner.accountId, wish.value.text['key_id'] ?? '')
        if (!key) throw notFound('No such key.')
        if (keyState(key, now()) === 'revoked')
          throw new Failed(failure('invalid_state', 'A revoked key cannot act for anybody.'))
        const started = await social.linking.start(key, wish.value.scopes, owner.actor)
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { ...linkAnswer(started), link_id: started.link.id }
      },
      { parse: 'none', ...documented(OWNER_SOCIAL_DOCS.start) },
    )
    .delete(
      '/:id',
      async ({ context, params }) => {
        const owner = await owners.owner(context)
        const key = await keys.find(owner.accountId, params.id)
        if (!key || !social) throw notFound('No such key.')
        const session = await social.store.session(key.poolId)
        if (session) await social.accounts.unlink(session, owner.actor, AbortSignal.timeout(UNLINK_MS))
        const links = await social.store.newestLinks(owner.accountId)
        const link = links.find(({ poolId }) => poolId === key.poolId) ?? null
        if (link?.usedAt === null) await social.linking.cancel(owner.accountId, link.id)
        await social.approvals.withdraw(key.poolId, AbortSignal.timeout(UNLINK_MS))
        return { account: socialRecord(key, null, null, now()) }
      },
      documented(OWNER_SOCIAL_DOCS.unlink),
    )
}

const UNLINK_MS = 15_000
