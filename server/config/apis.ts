import { Allowlist } from '../core/credentials/allowlist'
import type { Read } from './chain-values'
import { ConfigError } from './config-error'
import { type UpstreamWalletSettings, upstreamWalletSettings, WALLET_PREFIX } from './upstream-wallet'

/** Settings of imported APIs (spec-answers 12). */
export interface ApiSettings {
  /** Private addresses that upstreams may have; null for none. */
  readonly privateUpstreams: Allowlist | null
  /** The variables that may hold secrets of upstreams: those named `UPSTREAM_*`, without the wallet's, and no others. */
  readonly secrets: ReadonlyMap<string, string>
  /** Null: no upstream is paid per request. */
  readonly wallet: UpstreamWalletSettings | null
}

/** The prefix of variables that an API's authentication may name. */
const UPSTREAM_PREFIX = 'UPSTREAM_'

export function apiSettings(
  environment: Readonly<Record<string, string | undefined>>,
  production: boolean,
): ApiSettings {
  const read: Read = (name) => environment[name]?.trim() || null
  const secrets = Object.entries(environment).flatMap(([name, value]): [string, string][] =>
    name.startsWith(UPSTREAM_PREFIX) && !name.startsWith(WALLET_PREFIX) && value ? [[name, value]] : [],
  )
  return {
    privateUpstreams: ranges(environment['ALLOW_PRIVATE_UPSTREAMS']?.trim() || null),
    secrets: new Map(secrets),
    wallet: upstreamWalletSettings(read, production),
  }
}

function ranges(text: string | null): Allowlist | null {
  if (text === null) return null
  const parsed = Allowlist.parse(text.split(',').map((entry) => entry.trim()))
  if (parsed.ok) return parsed.value
  const { entry, rule } = parsed.error
  throw new ConfigError(
    `ALLOW_PRIVATE_UPSTREAMS must be a comma-separated list of addresses and CIDR ranges, such as 10.0.0.0/8: "${entry}" ${rule}`,
  )
}
