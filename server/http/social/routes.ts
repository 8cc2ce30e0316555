import { boundedBytes } from '../../core/bounded-bytes'
import { CONFIRM_MS } from '../../core/social/approvals'
import { SOCIAL_SALES } from '../../pipeline/social/social-actions'
import { CALL_OPTIONS } from '../middleware/input/call-options'
import { readJson } from '../middleware/input/json-body'
import type { PricedCalls } from '../middleware/priced'
import { routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented, UNDOCUMENTED } from '../openapi/documented'
import { freeEndpoint, operationEndpoint, publicEndpoint, served, sold } from '../routing/endpoint'
import { UNKNOWN_ENDPOINT } from '../routing/endpoint-table'
import { dataDocs, routeParameters } from '../search/docs'
import { CONFIRM_PATH, callbackPage } from './callback-page'
import { SOCIAL_LINK_DOCS } from './docs'
import type { Social } from './record'
import { startLink } from './start-link'

const LINK = freeEndpoint('social-link', 'social:write')
const CALLBACK = publicEndpoint()
const CONFIRM = publicEndpoint()

/** Links social accounts (spec 4.3), and sells what linked accounts do and read (spec D7). */
export function socialRoutes({ priced, social }: { priced: PricedCalls; social: Social | null }) {
  const web = routeGroup({ name: 'social' })
    .post(
      '/apis/v1/social/auth_social',
      ...served(LINK, documented(SOCIAL_LINK_DOCS, REQUEST_ID_HEADER), async ({ context }) => {
        const { reply, address, ids } = context
        const body = await readJson(context)
        const started = body.ok ? await startLink(social, context.authenticated.caller, address, body.value) : body
        if (!started.ok) return reply.refuse(started.error)
        return reply.free(started.value, { 'cache-control': 'no-store', 'x-gateway-request-id': ids.own })
      }),
    )
    .get(
      '/apis/v1/social/oauth_callback',
      ...served(CALLBACK, UNDOCUMENTED, async ({ context: { reply, url } }) => {
        if (!social) return reply.refuse(UNKNOWN_ENDPOINT.failure)
        const { searchParams: query } = url
        const only = (name: string) => (query.getAll(name).length === 1 ? query.get(name) : null)
        const callback = { state: only('state'), code: only('code'), error: only('error') }
        // The exchange continues if the browser is closed, because the state cannot be used again.
        const end = await social.linking.finish(callback, AbortSignal.timeout(FINISH_MS))
        const { status, body, headers } = callbackPage(end)
        const cookie = end.kind === 'approved' && { 'set-cookie': proofCookie(end, social.overHttps) }
        return reply.page(status, body, { ...headers, ...cookie })
      }),
    )
    .post(
      CONFIRM_PATH,
      ...served(CONFIRM, UNDOCUMENTED, async ({ context: { reply, request } }) => {
        if (!social) return reply.refuse(UNKNOWN_ENDPOINT.failure)
        const shown = await readConfirmation(request)
        const end = shown
          ? await social.approvals.confirm(shown.link, shown.proof, AbortSignal.timeout(FINISH_MS))
          : ({ kind: 'not_confirmed' } as const)
        const { status, body, headers } = callbackPage(end)
        return reply.page(status, body, { ...headers, ...(shown && { 'set-cookie': endedCookie(shown.link) }) })
      }),
    )
  // Untyped for clients: the dashboard never calls these.
  for (const { operation } of SOCIAL_SALES) {
    const endpoint = operationEndpoint(operation)
    for (const method of operation.methods) {
      const tables = [routeParameters(operation, method), CALL_OPTIONS, REQUEST_ID_HEADER]
      const hook = documented(dataDocs(operation, method), ...tables)
      const route = sold(endpoint, hook, (context) => priced.answer(context, operation.name))
      web.route(method, operation.path, ...route)
    }
  }
  return web
}

const FINISH_MS = 30_000

const MAX_FORM_BYTES = 1024
const LINK_ID = /^link_[0-9a-f]{32}$/

/** Binds the page's button to the browser that opened it. Scripts cannot read the cookie and other sites cannot send it. */
function proofCookie({ link, proof }: { link: string; proof: string }, overHttps: boolean): string {
  return `${cookie(link, proof, CONFIRM_MS / 1000)}${overHttps ? '; Secure' : ''}`
}

/** Clears the cookie, which works only once. */
function endedCookie(link: string): string {
  return cookie(link, '', 0)
}

/** The link that was confirmed, with this browser's proof; null if another site sent the form or the proof is missing. */
async function readConfirmation(request: Request): Promise<{ link: string; proof: string } | null> {
  if (!isOwnForm(request.headers)) return null
  const form = new URLSearchParams((await boundedBytes(request.body, MAX_FORM_BYTES))?.toString('utf8') ?? '')
  const link = form.get('link') ?? ''
  if (!LINK_ID.test(link)) return null
  const prefix = `${cookieName(link)}=`
  const all = (request.headers.get('cookie') ?? '').split(/; */)
  const proof = all.find((one) => one.startsWith(prefix))?.slice(prefix.length)
  return proof ? { link, proof } : null
}

/** Each link has its own cookie, so that two pages in one browser do not interfere. */
function cookieName(link: string): string {
  return `gateway_${link}`
}

function cookie(link: string, value: string, seconds: number): string {
  return `${cookieName(link)}=${value}; Path=${CONFIRM_PATH}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
}

/** The page sends no referrer, so its form has the origin `null`. `Sec-Fetch-Site` takes precedence if sent. */
function isOwnForm(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  return origin === null || origin === 'null' || URL.parse(origin)?.host === headers.get('host')
}
