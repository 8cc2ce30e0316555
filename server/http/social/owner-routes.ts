import type { Keys } from '../../core/accounts/keys'
import { keyState } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import { failure } from '../../core/failure'
import { SCOPE_MEANINGS, SOCIAL_SCOPES } from '../../core/social/scopes'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { KEY_ROWS_QUERY, queryOf } from '../middleware/input/list-query'
import { readBody } from '../middleware/input/validate-body'
import { routeGroup } from '../middleware/request-context'
import { Failed, notFound } from '../middleware/response/failures'
import { shownOnce } from '../middleware/response/shown-once'
import { documented } from '../openapi/documented'
import { allowed, type Id, signedIn } from '../routing/api-access'
import { costing, page } from '../routing/cost'
import { OWNER_SOCIAL_DOCS } from './docs'
import {
  linkAnswer,
  NewOwnerSocialLink,
  NO_NETWORK,
  type OneSocialAccount,
  type OwnerSocialLink,
  type Social,
  type SocialAccounts,
  socialRecord,
  socialRecords,
} from './record'

/** Lists, links and unlinks the social accounts of an owner's keys. */
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
      ...allowed(
        signedIn(owners, 'keys:read'),
        costing(page, documented(OWNER_SOCIAL_DOCS.list, KEY_ROWS_QUERY)),
        async ({ owner, context }): Promise<SocialAccounts> => {
          const query = queryOf(KEY_ROWS_QUERY, context)
          return {
            network: social?.network.name ?? null,
            scopes: SOCIAL_SCOPES.map((name) => ({ name, meaning: SCOPE_MEANINGS[name] })),
            ...(social
              ? await socialRecords(social, credentials, owner, query, now())
              : { accounts: [], next_cursor: null }),
          }
        },
      ),
    )
    .post(
      '',
      ...allowed(
        signedIn(owners, 'keys:write'),
        documented(OWNER_SOCIAL_DOCS.start),
        async ({ owner, context, set }): Promise<OwnerSocialLink> => {
          const { key_id: keyId, scopes = [] } = await readBody(NewOwnerSocialLink, context)
          if (!social) throw new Failed(NO_NETWORK)
          const key = await keys.find(owner, keyId)
          if (!key) throw notFound('This key does not exist.')
          if (keyState(key, now()) === 'revoked')
            throw new Failed(
              failure('invalid_state', 'This key was revoked, so no social account can be linked to it.'),
            )
          const started = await social.linking.start(key, scopes, owner.actor)
          return shownOnce(set, { ...linkAnswer(started), link_id: started.link.id })
        },
      ),
    )
    .delete(
      '/:id',
      ...allowed(
        signedIn(owners, 'keys:write'),
        documented(OWNER_SOCIAL_DOCS.unlink),
        async ({ owner }, { id }: Id): Promise<OneSocialAccount> => {
          const key = await keys.find(owner, id)
          if (!key || !social) throw notFound('This key does not exist.')
          const session = await social.store.session(key.poolId)
          if (session) await social.accounts.unlink(session, owner.actor, AbortSignal.timeout(UNLINK_MS))
          const links = await social.store.newestLinks(owner.accountId)
          const link = links.find(({ poolId }) => poolId === key.poolId) ?? null
          if (link?.usedAt === null) await social.linking.cancel(owner.accountId, link.id)
          await social.approvals.withdraw(key.poolId, AbortSignal.timeout(UNLINK_MS))
          return { account: socialRecord(key, null, null, now()) }
        },
      ),
    )
}

const UNLINK_MS = 15_000
