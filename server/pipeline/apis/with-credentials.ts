import type { UpstreamAuth } from '../../core/apis/api'
import type { SoldOperation } from '../../core/apis/api-routes'
import type { SecretsOf, UpstreamTokens } from '../../core/apis/secrets'
import { err, type Result } from '../../core/result'
import type { AskProblem } from './ask-api'
import { type Credentials, credentialsOf } from './upstream-request'

export interface CredentialDeps {
  readonly secretsOf: SecretsOf
  readonly tokens: UpstreamTokens
}

const MISSING: Partial<Record<UpstreamAuth['kind'], string>> = {
  oauth2: 'there is no token for it',
  '402': 'it is paid per request',
}

/**
 * Sends a request with the credentials of its API. A read whose token the upstream refuses (401) is sent once more, with a new one.
 * `send` gets the time that is left.
 */
export async function withCredentials<T>(
  { secretsOf, tokens }: CredentialDeps,
  { api, operation }: SoldOperation,
  timeoutMs: number,
  send: (credentials: Credentials, leftMs: number) => Result<T, AskProblem> | Promise<Result<T, AskProblem>>,
): Promise<Result<T, AskProblem>> {
  const startedAt = api.auth.kind === 'oauth2' ? performance.now() : 0
  for (let attempt = 1; ; attempt++) {
    const token = api.auth.kind === 'oauth2' ? await tokens.token(api, timeoutMs) : null
    const credentials = credentialsOf(api, secretsOf, token)
    if (!credentials) {
      const reason = MISSING[api.auth.kind] ?? 'its secret is not configured'
      return err({ kind: 'unavailable', reason, didNothing: true })
    }
    const leftMs = token === null ? timeoutMs : timeoutMs - (performance.now() - startedAt)
    if (leftMs <= 0) return err({ kind: 'timeout', reason: 'no time was left after its token came', didNothing: true })
    const result = await send(credentials, leftMs)
    const isRefused = !result.ok && result.error.status === 401 && token !== null
    if (!isRefused || attempt > 1 || operation.effect !== 'read' || !tokens.renew(api, token)) return result
  }
}
