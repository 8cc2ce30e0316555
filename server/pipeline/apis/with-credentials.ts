import type { Api, UpstreamAuth } from '../../core/apis/api'
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
export function withCredentials<T>(
  deps: CredentialDeps,
  sold: SoldOperation,
  timeoutMs: number,
  send: Send<T>,
): Sent<T> | Promise<Sent<T>> {
  const { api } = sold
  if (api.auth.kind === 'oauth2') return withToken(deps, sold, timeoutMs, send)
  const credentials = credentialsOf(api, deps.secretsOf, null)
  return credentials ? send(credentials, timeoutMs) : err(missing(api))
}

type Sent<T> = Result<T, AskProblem>
type Send<T> = (credentials: Credentials, leftMs: number) => Sent<T> | Promise<Sent<T>>

async function withToken<T>(
  { secretsOf, tokens }: CredentialDeps,
  { api, operation }: SoldOperation,
  timeoutMs: number,
  send: Send<T>,
): Promise<Sent<T>> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt++) {
    const token = await tokens.token(api, timeoutMs)
    const credentials = credentialsOf(api, secretsOf, token)
    if (!credentials) return err(missing(api))
    const leftMs = timeoutMs - (performance.now() - startedAt)
    if (leftMs <= 0) return err({ kind: 'timeout', reason: 'no time was left after its token came', didNothing: true })
    const result = await send(credentials, leftMs)
    const isRefused = !result.ok && result.error.status === 401 && token !== null
    if (!isRefused || attempt > 1 || operation.effect !== 'read' || !tokens.renew(api, token)) return result
  }
}

function missing({ auth }: Api): AskProblem {
  const reason = MISSING[auth.kind] ?? 'its secret is not configured'
  return { kind: 'unavailable', reason, didNothing: true }
}
