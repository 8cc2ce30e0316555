import type { Allowlist } from '../core/credentials/allowlist'
import { networks } from './listening'
import { type UpstreamWalletSettings, upstreamWalletSettings, WALLET_PREFIX } from './payments/upstream-wallet'
import { group, list, type Read } from './schema/setting'

/** Settings of imported APIs (spec D12). */
export interface ApiSettings {
  /** Private addresses that upstreams may have; null for none. */
  readonly privateUpstreams: Allowlist | null
  /** The variables that may hold secrets of upstreams: those named `UPSTREAM_*`, without the wallet's, and no others. */
  readonly secrets: ReadonlyMap<string, string>
  /** Null: no upstream is paid per request. */
  readonly wallet: UpstreamWalletSettings | null
}

/** The prefix of variables that an API's authentication may name. */
export const UPSTREAM_PREFIX = 'UPSTREAM_'

export const APIS = group(
  'Imported APIs',
  `Secrets of their upstreams are variables named \`${UPSTREAM_PREFIX}...\`, the only ones that an API's \`auth\` may name ([sell-your-api.md](sell-your-api.md)).`,
  {
    ALLOW_PRIVATE_UPSTREAMS: list(
      {
        example: '10.0.0.0/8',
        doc: 'Private addresses that upstreams of imported APIs may have: addresses and CIDR ranges, separated by commas. Link-local and metadata addresses never',
      },
      networks,
    ),
  },
)

export function apiSettings(
  read: Read,
  given: Readonly<Record<string, string | undefined>>,
  production: boolean,
): ApiSettings {
  const secrets = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    name.startsWith(UPSTREAM_PREFIX) && !name.startsWith(WALLET_PREFIX) && value ? [[name, value]] : [],
  )
  return {
    privateUpstreams: APIS.settings.ALLOW_PRIVATE_UPSTREAMS.of(read),
    secrets: new Map(secrets),
    wallet: upstreamWalletSettings(read, production),
  }
}
