import { Elysia } from 'elysia'
import { UNDOCUMENTED } from '../docs/documented'
import { notFound } from '../failures'

/** Another service that is served from here: it reads the whole request and makes the whole answer. */
export interface SandboxSite {
  answer(request: Request): Promise<Response>
}

/** `/sandbox/social`: the sandbox social network, where it is switched on. It takes no key, and nothing of the gateway's. */
export function sandboxRoutes(site: SandboxSite | null) {
  const answer = ({ request }: { request: Request }) => {
    if (!site) throw notFound('The sandbox network is not switched on.')
    return site.answer(request)
  }
  const asItCame = { parse: 'none', ...UNDOCUMENTED } as const
  return new Elysia({ name: 'sandbox' })
    .all('/sandbox/social', answer, asItCame)
    .all('/sandbox/social/*', answer, asItCame)
}
