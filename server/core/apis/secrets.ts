import type { Api, UpstreamSecret } from './api'

/** Opens a secret of an API: null if its variable is not set, or it cannot be unsealed. Never logged. */
export type SecretsOf = (api: string, secret: UpstreamSecret) => string | null

/** The access tokens of APIs with `oauth2`. */
export interface UpstreamTokens {
  /** A token that is valid for some seconds at least. Null: the token endpoint gave none. */
  token(api: Api, timeoutMs: number): Promise<string | null>
  /** Call when the upstream refused a token. Whether `token` will give another one: not if this one is only just fetched. */
  renew(api: Api, token: string): boolean
}
