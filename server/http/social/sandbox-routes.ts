import { withTakenBody } from '../middleware/input/json-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'

/** More than any post to a social network needs. */
const MAX_BODY_BYTES = 64 * 1024

/** A separate service mounted here, which handles the whole request and response. */
export interface SandboxSite {
  answer(request: Request): Promise<Response>
}

/** `/sandbox/social`: the sandbox social network, if enabled. It accepts no key and shares nothing with the gateway. */
export function sandboxRoutes(site: SandboxSite | null) {
  const answer = async ({ context }: { context: RequestContext }) => {
    if (!site) throw notFound('The sandbox network is not enabled.')
    return site.answer(taken(await withTakenBody(context, MAX_BODY_BYTES)))
  }
  const unparsed = { parse: 'none', ...UNDOCUMENTED } as const
  return routeGroup({ name: 'sandbox' })
    .all('/sandbox/social', answer, unparsed)
    .all('/sandbox/social/*', answer, unparsed)
}
