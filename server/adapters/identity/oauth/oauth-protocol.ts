import type { IdentityCaller } from '../../../core/accounts/identity'
import type { TokenGrant } from '../../../core/credentials/oauth-grant'
import { isUnavailable } from '../../../core/unavailable'
import { addressHeader, BASE_PATH, pathUnder } from '../auth-request'
import type { CodeUses } from '../sign-in/code-uses'
import { introspected } from './oauth-introspection'
import { DEVICE_CODE_GRANT } from './oauth-options'
import type { Registration } from './oauth-registration'
import { isProtocolPath, OPEN_TO_ALL, protocolError, protocolRequest, protocolResponse } from './oauth-request'

/** The caller and, for a registration, the app's metadata. */
export interface ProtocolCaller extends IdentityCaller {
  readonly registration?: Registration | null
}

/** The library's response and any failure behind it that the response may hide. */
export interface ProtocolResponse {
  readonly response: Response
  readonly fault: unknown
  /** The user whose session it began. */
  readonly startedFor: string | null
  /** Null if no password was compared. */
  readonly isPasswordRight: boolean | null
}

interface ProtocolParts {
  readonly origin: string
  readonly run: (request: Request, caller: ProtocolCaller) => Promise<ProtocolResponse>
  readonly uses: CodeUses
  readonly onFault: (requestId: string, error: unknown) => void
  /** Called with each write, before it. */
  readonly upkeep: () => Promise<void>
  /** The grant of an access token, as the gateway goes by it. */
  readonly byToken: (token: string) => Promise<TokenGrant | null>
  readonly now: () => number
}

/** The OAuth endpoints that apps call. They answer with the error codes of the RFCs, never with the service's own error shape. */
export function openProtocol({ origin, run, uses, onFault, upkeep, byToken, now }: ProtocolParts) {
  const metadataUrl = `${origin}/.well-known/oauth-authorization-server${BASE_PATH}`
  return {
    speaks: (request: Request) =>
      isProtocolPath(pathUnder(new URL(request.url))) && ['POST', 'OPTIONS'].includes(request.method),

    async answer(request: Request, caller: IdentityCaller): Promise<Response> {
      if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: OPEN_TO_ALL })
      try {
        const path = pathUnder(new URL(request.url))
        const target = new URL(BASE_PATH + path, origin)
        const accepted = await protocolRequest(request, path, target, addressHeader(caller.address))
        if (!accepted.ok) return protocolResponse(accepted.error)
        await upkeep()
        const { request: forwarded, code, registration, introspection } = accepted.value
        const forward = () => run(forwarded, { ...caller, registration })
        const { response, fault } = await (code === null ? forward() : uses.during(code, forward))
        if (fault !== null) onFault(caller.requestId, fault)
        if (fault === null && response.status < 400) {
          if (!introspection) return openToAll(response)
          const context = { byToken, issuer: origin + BASE_PATH, now: now() }
          return openToAll(Response.json(await introspected(introspection, await response.json(), context)))
        }
        const status = fault === null ? response.status : brokenStatus(fault)
        const problem = protocolError(status, await response.text(), response.headers.get('x-retry-after'))
        return protocolResponse(problem, problem.wait)
      } catch (error) {
        onFault(caller.requestId, error)
        const problem = protocolError(brokenStatus(error), '', null)
        return protocolResponse(problem, problem.wait)
      }
    },

    async metadata(): Promise<Readonly<Record<string, unknown>>> {
      const { response } = await run(new Request(metadataUrl), {
        address: null,
        requestId: 'metadata',
        isFromThisMachine: false,
      })
      return servedMetadata(Object(await response.json()), origin)
    },
  }
}

function brokenStatus(fault: unknown): 500 | 503 {
  return isUnavailable(fault) ? 503 : 500
}

function openToAll(response: Response): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(OPEN_TO_ALL)) headers.set(name, value)
  headers.set('cache-control', 'no-store')
  headers.delete('set-cookie')
  return new Response(response.body, { status: response.status, headers })
}

/** Fields that the library adds for endpoints that the allow-list closes, or for signed tokens, which are not used. */
const NOT_SERVED =
  /^(introspection_endpoint_auth_signing|userinfo_|end_session_|jwks_uri|id_token_|claims_|acr_|subject_types|dpop_|backchannel_|request_|token_endpoint_auth_signing|revocation_endpoint_auth_signing)/

const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post']

/** The library's RFC 8414 document, without the endpoints that are not served here. */
function servedMetadata(library: object, origin: string): Readonly<Record<string, unknown>> {
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
