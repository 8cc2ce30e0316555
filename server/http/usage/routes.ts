import { Elysia } from 'elysia'
import type { KnownCaller } from '../../pipeline/call'
import { Failed } from '../middleware/failures'
import { queryOf } from '../middleware/list-query'
import type { Reply } from '../middleware/reply'
import type { FrontDesk } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { USAGE_DOCS } from './docs'
import { CALLER_USAGE_QUERY, type UsageAnswers } from './usage-answers'

const NO_STORE = { 'cache-control': 'no-store' }

/** What a key or an app may know of its own use (spec 4.6). */
export function usageRoutes(desk: FrontDesk, { usage }: { readonly usage: UsageAnswers }) {
  const answer = async (request: Request, body: (caller: KnownCaller) => Promise<unknown>) => {
    const reply = desk.reply(request)
    try {
      return reply.free(await body(knownCaller(reply)), NO_STORE)
    } catch (error) {
      if (error instanceof Failed) return reply.refuse(error.failure)
      throw error
    }
  }
  return new Elysia({ name: 'usage' })
    .get(
      '/v1/usage',
      ({ request }) => answer(request, async (caller) => usage.report(caller, queryOf(CALLER_USAGE_QUERY, request))),
      documented(USAGE_DOCS.report, CALLER_USAGE_QUERY),
    )
    .get(
      '/v1/usage/:id',
      ({ request, params }) => answer(request, (caller) => usage.explained(caller, params.id)),
      documented(USAGE_DOCS.explained),
    )
    .get(
      '/v1/whoami',
      ({ request }) => answer(request, (caller) => usage.whoami(caller)),
      documented(USAGE_DOCS.whoami),
    )
    .get(
      '/v1/credits/balance',
      ({ request }) => answer(request, (caller) => usage.balance(caller)),
      documented(USAGE_DOCS.balance),
    )
}

function knownCaller(reply: Reply): KnownCaller {
  const caller = reply.authenticated?.caller
  if (!caller || caller.kind === 'anonymous')
    throw new Error('the door let nobody known pass to a route that needs a credential')
  return caller
}
