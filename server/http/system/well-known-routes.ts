import { Elysia } from 'elysia'
import type { Identity } from '../../core/accounts/identity'
import type { Brand } from '../../core/brand'
import { AUDIENCES, type Audience, SCOPES } from '../../core/credentials/oauth-grant'
import { documented, UNDOCUMENTED } from '../openapi/documented'
import { WELL_KNOWN_DOCS } from './well-known-docs'

const ROOT_AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server'
const AUTHORIZATION_SERVER = `${ROOT_AUTHORIZATION_SERVER}/api/auth`
const RESOURCE = '/.well-known/oauth-protected-resource'

/** Public, identical for everyone, and readable by apps in a browser. */
const OPEN = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'mcp-protocol-version',
  'cache-control': 'public, max-age=300',
} as const

interface WellKnownParts {
  readonly identity: Identity
  readonly baseUrl: string
  readonly brand: Brand
}

/** Discovery of how to request access: RFC 8414 for the OAuth server, RFC 9728 for each protected resource (spec 5.2). */
export function wellKnownRoutes({ identity, baseUrl, brand }: WellKnownParts) {
  const describe = (path: Audience) => ({
    resource: baseUrl + path,
    resource_name: `${brand.name} ${path}`,
    authorization_servers: [`${baseUrl}/api/auth`],
    scopes_supported: [...SCOPES],
    bearer_methods_supported: ['header'],
    resource_documentation: `${baseUrl}/docs`,
  })
  const preflight = () => new Response(null, { status: 204, headers: OPEN })
  const routes = new Elysia({ name: 'well-known' })
    .get(
      AUTHORIZATION_SERVER,
      async () => Response.json(await identity.authorizationServer(), { headers: OPEN }),
      documented(WELL_KNOWN_DOCS.authorizationServer),
    )
    .options(AUTHORIZATION_SERVER, preflight, UNDOCUMENTED)
    // For clients that look only at the origin, as before RFC 9728.
    .get(
      ROOT_AUTHORIZATION_SERVER,
      async () => Response.json(await identity.authorizationServer(), { headers: OPEN }),
      UNDOCUMENTED,
    )
    .options(ROOT_AUTHORIZATION_SERVER, preflight, UNDOCUMENTED)
    // For clients that know only the origin; they mean the MCP server.
    .get(RESOURCE, () => Response.json(describe('/mcp'), { headers: OPEN }), UNDOCUMENTED)
    .options(RESOURCE, preflight, UNDOCUMENTED)
  for (const path of AUDIENCES)
    routes
      .get(
        RESOURCE + path,
        () => Response.json(describe(path), { headers: OPEN }),
        path === '/mcp' ? documented(WELL_KNOWN_DOCS.protectedResource) : UNDOCUMENTED,
      )
      .options(RESOURCE + path, preflight, UNDOCUMENTED)
  return routes
}
