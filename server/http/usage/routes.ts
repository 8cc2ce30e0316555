import type { KnownCaller } from '../../pipeline/call'
import { queryOf } from '../middleware/input/list-query'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { Failed } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { costing, usageReport } from '../routing/cost'
import { freeEndpoint, type GatedCall, served } from '../routing/endpoint'
import { USAGE_DOCS } from './docs'
import { CALLER_USAGE_QUERY, type UsageAnswers } from './usage-answers'

const REPORT = freeEndpoint('usage', 'usage:read')
const EXPLAINED = freeEndpoint('usage-request', 'usage:read')
const WHOAMI = freeEndpoint('whoami', 'any')
const BALANCE = freeEndpoint('balance', 'usage:read')

const NO_STORE = { 'cache-control': 'no-store' }

/** Usage, balance and identity of a key or an app (spec 4.6). */
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
      ...served(REPORT, costing(usageReport, documented(USAGE_DOCS.report, CALLER_USAGE_QUERY)), ({ context }) =>
        answer(context, async (caller) => usage.report(caller, queryOf(CALLER_USAGE_QUERY, context))),
      ),
    )
    .get(
      '/v1/usage/:id',
      ...served(
        EXPLAINED,
        documented(USAGE_DOCS.explained),
        ({ context, params }: GatedCall<KnownCaller, { id: string }>) =>
          answer(context, (caller) => usage.explained(caller, params.id)),
      ),
    )
    .get(
      '/v1/whoami',
      ...served(WHOAMI, documented(USAGE_DOCS.whoami), ({ context }) =>
        answer(context, (caller) => usage.whoami(caller)),
      ),
    )
    .get(
      '/v1/credits/balance',
      ...served(BALANCE, documented(USAGE_DOCS.balance), ({ context }) =>
        answer(context, (caller) => usage.balance(caller)),
      ),
    )
}
