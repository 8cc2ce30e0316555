import { AUDIENCES, SCOPES } from '../../core/credentials/oauth-grant'
import type { EndpointDocs } from '../openapi/documented'
import { listOf, record, text, yesOrNo } from '../openapi/json-schema'

const url = (description: string) => text(description, { format: 'uri' })
const words = (description: string) => listOf(text('A value.'), description)
const ORIGIN = 'http://localhost:3000'
const ISSUER = `${ORIGIN}/api/auth`

/** Discovery documents of the OAuth server and its protected resources. */
export const WELL_KNOWN_DOCS = {
  authorizationServer: {
    id: 'authorizationServer',
    tag: 'Apps',
    summary: 'The OAuth server',
    description:
      'RFC 8414: where an app registers, requests access and gets tokens. Supports the authorization code grant with PKCE (S256) and the device grant.',
    answers: {
      200: {
        description: 'The metadata document.',
        schema: record('RFC 8414.', {
          issuer: url('The issuer.'),
          authorization_endpoint: url('Where the browser is sent to approve access.'),
          token_endpoint: url('Where codes and refresh tokens are exchanged for tokens.'),
          registration_endpoint: url('RFC 7591: where an app registers itself.'),
          revocation_endpoint: url('RFC 7009.'),
          introspection_endpoint: url('RFC 7662: what an app asks about its own tokens.'),
          device_authorization_endpoint: url('RFC 8628.'),
          scopes_supported: words('The scopes that an app can request.'),
          response_types_supported: words('Always `code`.'),
          response_modes_supported: words('Always `query`.'),
          grant_types_supported: words('The supported grant types.'),
          code_challenge_methods_supported: words('Always `S256`.'),
          token_endpoint_auth_methods_supported: words('How an app authenticates.'),
          revocation_endpoint_auth_methods_supported: words('How an app authenticates when it revokes a token.'),
          introspection_endpoint_auth_methods_supported: words('How an app authenticates when it asks about a token.'),
          authorization_response_iss_parameter_supported: yesOrNo(
            'RFC 9207: the authorization response names its issuer.',
          ),
          client_id_metadata_document_supported: yesOrNo(
            'Whether the `client_id` of an app that did not register may be the URL of its metadata document.',
          ),
          service_documentation: url('This documentation.'),
        }),
        examples: {
          local: {
            issuer: ISSUER,
            authorization_endpoint: `${ISSUER}/oauth2/authorize`,
            token_endpoint: `${ISSUER}/oauth2/token`,
            registration_endpoint: `${ISSUER}/oauth2/register`,
            revocation_endpoint: `${ISSUER}/oauth2/revoke`,
            introspection_endpoint: `${ISSUER}/oauth2/introspect`,
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
            introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
            authorization_response_iss_parameter_supported: true,
            client_id_metadata_document_supported: true,
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
    description: `RFC 9728: which server issues tokens for it, and with which scopes. There is one document for each of ${AUDIENCES.map((path) => `\`${path}\``).join(', ')}.`,
    answers: {
      200: {
        description: 'The metadata document.',
        schema: record('RFC 9728.', {
          resource: url('The audience that a token must name.'),
          resource_name: text('Its name.'),
          authorization_servers: words('The servers that issue tokens for it.'),
          scopes_supported: words('The scopes that a token can have.'),
          bearer_methods_supported: words('Always `header`.'),
          resource_documentation: url('This documentation.'),
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
} as const satisfies Record<string, EndpointDocs>
