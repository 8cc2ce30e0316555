import type { KnownCaller } from '../../pipeline/call'
import { Failed } from '../middleware/failures'
import { queryOf } from '../middleware/list-query'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { type GatedCall, keyed } from '../routing/gated'
import { USAGE_DOCS } from './docs'
import { CALLER_USAGE_QUERY, type UsageAnswers } from './usage-answers'

const NO_STORE = { 'cache-control': 'no-store' }

/** What a key or an app may know of its own use (spec 4.6). */
export function usageRoutes({ usage }: { readonly usage: UsageAnswers }) {
  const answer = async (
    { reply, authenticated }: GatedContext<KnownCaller>,
    body: (caller: KnownCaller) => Promise<unknown>,
  ) => {
    try {
      return reply.free(await body(authenticated.caller), NO_STORE)
    } catch (error) {
      if (error instanceof Failed) return reply.refuse(error.failure)
      throw error
    }
  }
  return routeGroup({ name: 'usage' })
    .get(
      '/v1/usage',
      keyed(({ context }) =>
        answer(context, async (caller) => usage.report(caller, queryOf(CALLER_USAGE_QUERY, context))),
      ),
      documented(USAGE_DOCS.report, CALLER_USAGE_QUERY),
    )
    .get(
      '/v1/usage/:id',
      keyed(({ context, params }: GatedCall<KnownCaller, { id: string }>) =>
        answer(context, (caller) => usage.explained(caller, params.id)),
      ),
      documented(USAGE_DOCS.explained),
    )
    .get(
      '/v1/whoami',
      keyed(({ context }) => answer(context, (caller) => usage.whoami(caller))),
      documented(USAGE_DOCS.whoami),
    )
    .get(
      '/v1/credits/balance',
      keyed(({ context }) => answer(context, (caller) => usage.balance(caller))),
      documented(USAGE_DOCS.balance),
    )
}
