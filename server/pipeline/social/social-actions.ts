import type { Operation } from '../../core/catalog/operation'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import {
  SOCIAL_DELETE,
  SOCIAL_DM,
  SOCIAL_DM_THREADS,
  SOCIAL_FOLLOW,
  SOCIAL_LIKE,
  SOCIAL_POST,
  SOCIAL_UNFOLLOW,
  SOCIAL_UNLIKE,
  SOCIAL_USER,
} from '../../core/catalog/social-actions'
import { type Failure, failure, uncharged } from '../../core/failure'
import { type Money, times } from '../../core/money'
import type { Provider, UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { LinkedAccounts, UseFailure } from '../../core/social/linked-accounts'
import type { LinkingKey } from '../../core/social/linking'
import type { SocialAction, SocialNetwork } from '../../core/social/network'
import type { SocialScope } from '../../core/social/scopes'
import type { SocialSession } from '../../core/social/session'
import type { AuthenticatedCall, KnownCaller } from '../call'

/** An operation performed by a linked account, and the provider of one call of it. */
export interface SocialSale {
  readonly operation: Operation
  provider(
    social: SocialParts | null,
    authenticated: Pick<AuthenticatedCall, 'caller'>,
  ): Provider<Parameters<ParameterTable>>
}

/** The operations on linked accounts: the scope that each needs, and what it does at the network (spec D7). */
export const SOCIAL_SALES: readonly SocialSale[] = [
  sale(SOCIAL_FOLLOW, 'follows.write', ({ target_user_id: targetUserId }) => ({ kind: 'follow', targetUserId })),
  sale(SOCIAL_UNFOLLOW, 'follows.write', ({ target_user_id: targetUserId }) => ({ kind: 'unfollow', targetUserId })),
  sale(SOCIAL_LIKE, 'like.write', ({ tweet_id: tweetId }) => ({ kind: 'like', tweetId })),
  sale(SOCIAL_UNLIKE, 'like.write', ({ tweet_id: tweetId }) => ({ kind: 'unlike', tweetId })),
  sale(SOCIAL_POST, 'tweet.write', (input) => ({
    kind: 'post',
    text: input.content,
    inReplyToTweetId: input.in_reply_to_tweet_id ?? null,
    quoteTweetId: input.quote_tweet_id ?? null,
  })),
  sale(SOCIAL_DELETE, 'tweet.write', ({ tweet_id: tweetId }) => ({ kind: 'delete', tweetId })),
  sale(SOCIAL_DM, 'dm.write', ({ recipient_id: recipientId, text }) => ({ kind: 'dm', recipientId, text })),
  sale(SOCIAL_USER, 'users.read', ({ username, id }, session) =>
    username === undefined
      ? { kind: 'user', by: 'id', value: id ?? session.user.id }
      : { kind: 'user', by: 'username', value: username },
  ),
  sale(SOCIAL_DM_THREADS, 'dm.read', (input) => ({
    kind: 'messages',
    withUserId: input.participant_id ?? null,
    max: input.count,
    pageToken: input.next_token ?? null,
  })),
]

export interface SocialParts {
  readonly accounts: LinkedAccounts
  readonly network: SocialNetwork
  /** Finds a usable key by its id. Accepts any text. */
  readonly keyOf: (id: string) => Promise<LinkingKey | null>
  /** Whether signup credit may pay. By default it buys nothing that costs the operator money. */
  readonly creditBuys: boolean
  /** The operator's cost of a unit, by the name of its price; undefined if not known. */
  readonly costOf: (price: string) => Money | undefined
}

/**
 * Acts as the account that is linked to the caller's key. The scope is checked first: 403 `social_session_required` and
 * `insufficient_scope` cost nothing, and the network is not called.
 */
function sale<T extends ParameterTable>(
  operation: Operation<T>,
  scope: SocialScope,
  action: (input: Parameters<T>, session: SocialSession) => SocialAction,
): SocialSale {
  const provider = (
    social: SocialParts | null,
    { caller }: Pick<AuthenticatedCall, 'caller'>,
  ): Provider<Parameters<T>> => ({
    name: `social:${social?.network.name ?? 'none'}`,
    ready: async () => social !== null,
    ...(social?.creditBuys === false && { onCredit: null }),
    async call(input, signal) {
      if (!social)
        return err(
          refusal(
            failure(
              'upstream_unavailable',
              'No social network is configured on this gateway. Ask its operator to set one up.',
            ),
          ),
        )
      if (caller.kind === 'anonymous') throw new Error('a social operation got an anonymous caller')
      const key = await actingKey(social, caller, Reflect.get(input, 'key_id'))
      if (!key.ok) return err(refusal(key.error))
      const outcome = await social.accounts.use(key.value, scope, (actor, session) =>
        social.network.act(actor, action(input, session), signal),
      )
      if (!outcome.ok) return err(toUpstreamFailure(outcome.error, operation.effect === 'write'))
      const { data, items } = outcome.value
      const cost = social.costOf(operation.metering?.priceName(input) ?? operation.name)
      return ok({
        body: JSON.stringify({ data }),
        ...(items !== undefined && { units: items }),
        ...(cost !== undefined && { cost: times(cost, items ?? 1) }),
      })
    },
  })
  return { operation, provider }
}

const NO_KEY_NAMED = failure(
  'social_session_required',
  'Social accounts are linked to API keys. With an access token, send the ID of one of your keys as key_id.',
)

/** The key whose linked account acts: the calling key, or for an app the usable key of its owner that it names (spec D10). */
export async function actingKey(
  { keyOf }: Pick<SocialParts, 'keyOf'>,
  caller: KnownCaller,
  named: unknown,
): Promise<Result<LinkingKey, Failure>> {
  if (caller.kind === 'key') {
    if (named === undefined || named === caller.key.id) return ok(caller.key)
    return err(
      failure('insufficient_permissions', 'An API key can act only for itself. Remove key_id.', { param: 'key_id' }),
    )
  }
  const key = typeof named === 'string' ? await keyOf(named) : null
  return key?.accountId === caller.account.id ? ok(key) : err(NO_KEY_NAMED)
}

function refusal(problem: NonNullable<UpstreamFailure['failure']>): UpstreamFailure {
  return { kind: 'refused', reason: problem.code, failure: problem }
}

function toUpstreamFailure(problem: UseFailure, isWrite: boolean): UpstreamFailure {
  switch (problem.kind) {
    case 'own':
      return refusal(problem.failure)
    case 'refused': {
      const { reason, status, contentType, body } = problem
      return { kind: 'error', reason, passThrough: { status, contentType, body, isAboutInput: true } }
    }
    case 'rate_limited':
      return problem
    case 'unknown':
      if (!isWrite) return { kind: 'timeout', reason: problem.reason }
      return {
        kind: 'timeout',
        reason: `outcome unknown: ${problem.reason}`,
        failure: uncharged(
          'upstream_timeout',
          'The social network did not confirm this action, so it may have happened. It was sent once and will not be retried. Check the network before you send it again.',
        ),
      }
    case 'about_us':
    case 'token_refused':
      return {
        kind: 'unavailable',
        reason: problem.reason,
        failure: uncharged(
          'upstream_unavailable',
          "The social network is currently refusing this gateway's own account. Contact the operator.",
        ),
      }
    case 'unavailable':
      return { kind: 'unavailable', reason: problem.reason }
  }
}
