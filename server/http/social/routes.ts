import { formatAddress } from '../../core/credentials/address'
import { failure } from '../../core/failure'
import { countedOn } from '../../pipeline/call'
import { actingKey, SOCIAL_SALES } from '../../pipeline/social/social-actions'
import { CALL_OPTIONS } from '../middleware/call-options'
import { readJson } from '../middleware/json-body'
import { askedBy, type PricedCalls } from '../middleware/priced'
import { routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented, UNDOCUMENTED } from '../openapi/documented'
import { gated, keyed } from '../routing/gated'
import { dataDocs, routeParameters } from '../search/docs'
import { CONFIRM_PATH, callbackPage } from './callback-page'
import { SOCIAL_LINK_DOCS } from './docs'
import { linkWish } from './link-scopes'
import { endedCookie, pressed, proofCookie } from './proof-cookie'
import { linkAnswer, NO_NETWORK, type Social } from './record'

/** Linking an account (spec 4.3), and what a linked account does and reads (spec-answers 7). */
export function socialRoutes({ priced, social }: { priced: PricedCalls; social: Social | null }) {
  const web = routeGroup({ name: 'social' })
    .post(
      '/apis/v1/social/auth_social',
      keyed(async ({ context }) => {
        const { reply, address, ids } = context
        const { caller } = context.authenticated
        const body = await readJson(context)
        const wish = body.ok ? linkWish(body.value, [], ['key_id']) : body
        if (!wish.ok) return reply.refuse(wish.error)
        if (!social) return reply.refuse(NO_NETWORK)
        const key = await actingKey(social, caller, wish.value.text['key_id'])
        if (!key.ok) return reply.refuse(key.error)
        const actor = { kind: 'owner', id: countedOn(caller).id, address: formatAddress(address) } as const
        const started = await social.linking.start(key.value, wish.value.scopes, actor)
        return reply.free(linkAnswer(started), { 'cache-control': 'no-store', 'x-gateway-request-id': ids.own })
      }),
      { parse: 'none', ...documented(SOCIAL_LINK_DOCS, REQUEST_ID_HEADER) },
    )
    .get(
      '/apis/v1/social/oauth_callback',
      gated(async ({ context: { reply, url } }) => {
        if (!social) return reply.refuse(failure('unknown_endpoint', 'There is no such endpoint.'))
        const { searchParams: query } = url
        const only = (name: string) => (query.getAll(name).length === 1 ? query.get(name) : null)
        const callback = { state: only('state'), code: only('code'), error: only('error') }
        // The browser may be closed while the code is exchanged: the exchange goes on, its state is burned.
        const end = await social.linking.finish(callback, AbortSignal.timeout(FINISH_MS))
        const { status, body, headers } = callbackPage(end)
        const cookie = end.kind === 'approved' && { 'set-cookie': proofCookie(end, social.overHttps) }
        return reply.page(status, body, { ...headers, ...cookie })
      }),
      UNDOCUMENTED,
    )
    .post(
      CONFIRM_PATH,
      gated(async ({ context: { reply, request } }) => {
        if (!social) return reply.refuse(failure('unknown_endpoint', 'There is no such endpoint.'))
        const shown = await pressed(request)
        const end = shown
          ? await social.approvals.confirm(shown.link, shown.proof, AbortSignal.timeout(FINISH_MS))
          : ({ kind: 'not_confirmed' } as const)
        const { status, body, headers } = callbackPage(end)
        return reply.page(status, body, { ...headers, ...(shown && { 'set-cookie': endedCookie(shown.link) }) })
      }),
      { parse: 'none', ...UNDOCUMENTED },
    )
  // Not typed for clients: these are called by programs of all kinds, never by the dashboard.
  for (const { operation } of SOCIAL_SALES)
    for (const method of operation.methods)
      web.route(
        method,
        operation.path,
        gated(({ context }) => priced.answer(askedBy(context), operation.name)),
        {
          parse: 'none',
          ...documented(
            dataDocs(operation, method),
            routeParameters(operation, method),
            CALL_OPTIONS,
            REQUEST_ID_HEADER,
          ),
        },
      )
  return web
}

const FINISH_MS = 30_000
