import type { Scope } from '../../core/credentials/oauth-grant'
import type { FailureCode } from '../../core/failure'
import type { EndpointDocs } from '../openapi/documented'

const SESSION_ONLY = new Set<FailureCode>(['missing_session', 'foreign_origin'])
const APP_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'invalid_token',
  'insufficient_scope',
  'insufficient_permissions',
  'rate_limit_exceeded',
]

/** The documents of an owner's route as apps have it: under another path, for a token with this scope. */
export function asApp(docs: EndpointDocs, scope: Scope): EndpointDocs {
  return {
    ...docs,
    id: `${docs.id}AsApp`,
    summary: `${docs.summary}, as an app`,
    description: `${docs.description} For an access token with the scope \`${scope}\`, never for an API key.`,
    failures: [...docs.failures.filter((code) => !SESSION_ONLY.has(code)), ...APP_FAILURES],
  }
}
