import type { UpstreamSecret } from './api'

/** Opens a secret of an API: null if its variable is not set, or it cannot be unsealed. Never logged. */
export type SecretsOf = (api: string, secret: UpstreamSecret) => string | null
