import { AUDIENCES, SCOPES } from '../../core/credentials/oauth-grant'
import type { RouteDocs } from '../openapi/documented'
import { listOf, record, text, yesOrNo } from '../openapi/json-schema'

const url = (description: string) => text(description, { format: 'uri' })
const words = (description: string) => listOf(text('A name.'), description)
const ORIGIN = 'http://localhost:3000'
const ISSUER = `${ORIGIN}/api/auth`

/** The OAuth server and the protected resources, as apps discover them. */
export const WELL_KNOWN_DOCS = {
  authorizationServer: {
    id: 'authorizationServer',
    tag: 'Apps',
    summary: 'The OAuth server',
    description:
      'RFC 8414: where an app registers, asks for access and gets tokens. Authorization code with PKCE (S256), or device.',
    access: 'anybody',
    answers: {
      200: {
        description: 'The description.',
        schema: record('RFC 8414.', {
          issuer: url('The issuer.'),
          authorization_endpoint: url('Where the browser goes.'),
          token_endpoint: url('Where codes and refresh tokens become tokens.'),
          registration_endpoint: url('RFC 7591: where an app registers itself.'),
          revocation_endpoint: url('RFC 7009.'),
          device_authorization_endpoint: url('RFC 8628.'),
          scopes_supported: words('What an app may ask for.'),
          response_types_supported: words('Always `code`.'),
          response_modes_supported: words('Always `query`.'),
          grant_types_supported: words('The grants.'),
          code_challenge_methods_supported: words('Always `S256`.'),
          token_endpoint_auth_methods_supported: words('How an app proves itself.'),
          revocation_endpoint_auth_methods_supported: words('The same.'),
          authorization_response_iss_parameter_supported: yesOrNo('RFC 9207: the answer names its issuer.'),
          service_documentation: url('These documents.'),
        }),
        examples: {
          local: {
            issuer: ISSUER,
            authorization_endpoint: `${ISSUER}/oauth2/authorize`,
            token_endpoint: `${ISSUER}/oauth2/token`,
            registration_endpoint: `${ISSUER}/oauth2/register`,
            revocation_endpoint: `${ISSUER}/oauth2/revoke`,
            device_authorization_endpoint: `${ISSUER}/device/code`,
            scopes_supported: [...SCOPES],
            response_types_supported: ['code'],
            response_modes_supported: ['query'],
            grant_types_supported: [
              'authorization_code',
              'refresh_token',
              'urn:ietf:params:oauth:grant-type:device_code',
            ],
            code_challenge_methods_supported: ['S256'],
            token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
            revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
            authorization_response_iss_parameter_supported: true,
            service_documentation: `${ORIGIN}/docs`,
          },
        },
      },
    },
    failures: ['internal_error', 'service_unavailable'],
  },
  protectedResource: {
    id: 'protectedResource',
    tag: 'Apps',
    summary: 'The MCP server as a protected resource',
    description: `RFC 9728: who gives tokens for it, and which scopes they may have. There is one such document for each of ${AUDIENCES.map((path) => `\`${path}\``).join(', ')}.`,
    access: 'anybody',
    answers: {
      200: {
        description: 'The description.',
        schema: record('RFC 9728.', {
          resource: url('The audience that a token must name.'),
          resource_name: text('Its name.'),
          authorization_servers: words('Who gives tokens for it.'),
          scopes_supported: words('What a token may allow.'),
          bearer_methods_supported: words('Always `header`.'),
          resource_documentation: url('These documents.'),
        }),
        examples: {
          mcp: {
            resource: `${ORIGIN}/mcp`,
            resource_name: 'Gateway /mcp',
            authorization_servers: [ISSUER],
            scopes_supported: [...SCOPES],
            bearer_methods_supported: ['header'],
            resource_documentation: `${ORIGIN}/docs`,
          },
        },
      },
    },
    failures: ['internal_error'],
  },
} as const satisfies Record<string, RouteDocs>
