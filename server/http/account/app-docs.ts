import type { Scope } from '../../core/credentials/oauth-grant'
import type { FailureCode } from '../../core/failure'
import type { EndpointDocs } from '../openapi/documented'

const SESSION_ONLY: ReadonlySet<FailureCode> = new Set(['recent_sign_in_required', 'second_factor_required'])
const APP_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'invalid_token',
  'insufficient_scope',
  'insufficient_permissions',
  'account_suspended',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]

/** Documents the app version of an owner's route: another path, called with an access token of this scope. */
export function appDocs(docs: EndpointDocs, scope: Scope): EndpointDocs {
  return {
    ...docs,
    id: `${docs.id}AsApp`,
    summary: `${docs.summary}, as an app`,
    description: `${docs.description} Needs an access token with the scope \`${scope}\`; API keys are not accepted.`,
    failures: [...new Set([...docs.failures.filter((code) => !SESSION_ONLY.has(code)), ...APP_FAILURES])],
  }
}
