import type { ParameterTable } from '../../core/catalog/parameters'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import type { Thumbnails } from './thumbnails'

const QUERY = {
  url: { in: 'query', kind: 'text', min: 1, max: 4096, required: true, description: 'The URL of the image.' },
} as const satisfies ParameterTable

/** Images of search results for the dashboard. Needs the owner's session, so that it is not an open proxy. */
export function thumbnailRoutes({ owners, thumbnails }: { owners: OwnerSessions; thumbnails: Thumbnails }) {
  return routeGroup({ name: 'thumbnail', prefix: '/api' }).get(
    '/thumbnail',
    ...allowed(signedIn(owners), UNDOCUMENTED, async ({ accountId, context }) => {
      const { contentType, body } = taken(await thumbnails.get(accountId, queryOf(QUERY, context).url))
      return new Response(body, {
        headers: {
          'content-type': contentType,
          'cache-control': 'private, max-age=3600',
          // Third-party bytes on our origin: nothing in them may run, whatever their type.
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
        },
      })
    }),
  )
}
