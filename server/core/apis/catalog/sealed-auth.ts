import type { SealContext, Sealing } from '../../sealing'
import type { Api, UpstreamAuth, UpstreamSecret } from '../api'
import type { GivenAuth } from './catalog-form'

/** Where the sealed secret of an API is stored. */
export function secretContext(api: string): SealContext {
  return { table: 'apis', row: api, column: 'auth' }
}

/**
 * The stored form of an authentication. A stored secret is kept only for its own place: the same kind of
 * authentication at the same scheme, host and port. Throws `NoStoredSecret` if there is none to keep.
 */
export function sealedAuth(
  given: GivenAuth,
  previous: Pick<Api, 'auth' | 'baseUrl'> | null,
  { api, sealing }: { readonly api: string; readonly sealing: Sealing },
): UpstreamAuth {
  if (!('secret' in given)) return given
  const { secret } = given
  if (secret.from === 'environment') return { ...given, secret }
  if (secret.from === 'text') return { ...given, secret: sealed(sealing.seal(secret.text, secretContext(api))) }
  const stored = previous && 'secret' in previous.auth ? previous.auth.secret : null
  if (stored?.from !== 'database') throw new NoStoredSecret()
  return { ...given, secret: stored }
}

/** A form keeps a secret that is not stored. */
export class NoStoredSecret extends Error {}

/** The places that get an API's secret: its own origin, and that of its token endpoint. */
export function secretOrigins({ baseUrl, auth }: { readonly baseUrl: string; readonly auth: GivenAuth }): string {
  const token = auth.kind === 'oauth2' ? URL.parse(auth.tokenUrl)?.origin : null
  return [URL.parse(baseUrl)?.origin, token].join(' ')
}

function sealed(text: string): UpstreamSecret {
  return { from: 'database', sealed: text }
}
