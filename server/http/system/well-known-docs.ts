import { AUDIENCES, SCOPES } from '../../core/credentials/oauth-grant'
import type { EndpointDocs } from '../openapi/documented'
import { listOf, record, text, withExample, yesOrNo } from '../openapi/json-schema'

const url = (description: string) => text(description, { format: 'uri' })
const words = (description: string, ...values: readonly string[]) =>
  withExample([...values], listOf(text('A value.'), description))

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
          scopes_supported: words('The scopes that an app can request.', ...SCOPES),
          response_types_supported: words('Always `code`.', 'code'),
          response_modes_supported: words('Always `query`.', 'query'),
          grant_types_supported: words('The supported grant types.', 'authorization_code', 'refresh_token'),
          code_challenge_methods_supported: words('Always `S256`.', 'S256'),
          token_endpoint_auth_methods_supported: words('How an app authenticates.', 'client_secret_basic'),
          revocation_endpoint_auth_methods_supported: words(
            'How an app authenticates when it revokes a token.',
            'client_secret_basic',
          ),
          introspection_endpoint_auth_methods_supported: words(
            'How an app authenticates when it asks about a token.',
            'client_secret_basic',
          ),
          authorization_response_iss_parameter_supported: yesOrNo(
            'RFC 9207: the authorization response names its issuer.',
          ),
          client_id_metadata_document_supported: yesOrNo(
            'Whether the `client_id` of an app that did not register may be the URL of its metadata document.',
          ),
          service_documentation: url('This documentation.'),
        }),
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
          authorization_servers: words('The servers that issue tokens for it.', 'http://localhost:3000/api/auth'),
          scopes_supported: words('The scopes that a token can have.', ...SCOPES),
          bearer_methods_supported: words('Always `header`.', 'header'),
          resource_documentation: url('This documentation.'),
        }),
      },
    },
    failures: ['internal_error'],
  },
} as const satisfies Record<string, EndpointDocs>
