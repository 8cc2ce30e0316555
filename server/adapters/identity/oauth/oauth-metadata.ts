import { DEVICE_CODE_GRANT } from './oauth-options'

/** Fields that the library adds for endpoints that the allow-list closes, or for signed tokens, which are not used. */
const NOT_SERVED =
  /^(introspection_endpoint_auth_signing|userinfo_|end_session_|jwks_uri|id_token_|claims_|acr_|subject_types|dpop_|backchannel_|request_|token_endpoint_auth_signing|revocation_endpoint_auth_signing)/

const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post']

/** The library's RFC 8414 document, without the endpoints that are not served here. */
export function servedMetadata(library: object, origin: string): Readonly<Record<string, unknown>> {
  const served = Object.fromEntries(Object.entries(library).filter(([name]) => !NOT_SERVED.test(name)))
  return {
    ...served,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_CODE_GRANT],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    // An app without a secret cannot prove that a token is its own.
    introspection_endpoint_auth_methods_supported: AUTH_METHODS.filter((method) => method !== 'none'),
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${origin}/docs`,
  }
}
