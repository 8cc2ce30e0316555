import { notFound, taken } from '../middleware/failures'
import { withTakenBody } from '../middleware/json-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'

/** Nobody posts more to a social network. */
const MAX_BODY_BYTES = 64 * 1024

/** Another service that is served from here: it reads the whole request and makes the whole answer. */
export interface SandboxSite {
  answer(request: Request): Promise<Response>
}

/** `/sandbox/social`: the sandbox social network, where it is switched on. It takes no key, and nothing of the gateway's. */
export function sandboxRoutes(site: SandboxSite | null) {
  const answer = async ({ context }: { context: RequestContext }) => {
    if (!site) throw notFound('The sandbox network is not enabled.')
    return site.answer(taken(await withTakenBody(context, MAX_BODY_BYTES)))
  }
  const asItCame = { parse: 'none', ...UNDOCUMENTED } as const
  return routeGroup({ name: 'sandbox' })
    .all('/sandbox/social', answer, asItCame)
    .all('/sandbox/social/*', answer, asItCame)
}
