import { ClientCredentialTokens } from '../../adapters/oauth/client-credentials'
import { compileJsonSchema } from '../../adapters/openapi/compile-json-schema'
import { AddressBook } from '../../adapters/outbound/address-book'
import { type GuardedFetchOptions, openGuardedFetch, openGuardedStreams } from '../../adapters/outbound/guarded-fetch'
import { isNeverAllowed, publicAddress } from '../../adapters/outbound/public-address'
import { KeyRing } from '../../adapters/sealing/key-ring'
import type { Config } from '../../config'
import type { ApiRegistry } from '../../core/apis/api-store'
import { secretContext } from '../../core/apis/catalog/sealed-auth'
import type { SecretsOf } from '../../core/apis/secrets'
import type { Clock } from '../../core/clock'
import { parseAddress } from '../../core/credentials/address'
import { Shares } from '../../core/limits/shares'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { PRODUCT } from '../../core/version'
import { ApiCalls } from '../../http/apis/api-calls'
import type { Log } from '../../log'
import { ApiInputs } from '../../pipeline/apis/api-input'
import type { ApiAnswer } from '../../pipeline/apis/ask-api'
import type { PaidUpstreams } from '../../pipeline/apis/ask-paid'
import { ByteCache } from '../../pipeline/byte-cache'
import type { PipelineDeps } from '../../pipeline/paid-call'
import { MAX_STREAM_MS } from '../../pipeline/stream'

/** Cached answers of all imported operations together, of this process and its workers. */
const MAX_CACHE_BYTES = 64 * 1024 * 1024

export interface ApiNeeds {
  readonly apis: ApiRegistry
  readonly pipeline: PipelineDeps
  readonly clock: Clock
  readonly log: Log
  /** Pays upstreams per request; null without a wallet. */
  readonly paying: PaidUpstreams | null
  readonly secretsOf: SecretsOf
  /** Requests to upstreams, for tests. */
  readonly fetch?: OutboundFetch
}

/** The parts that sell imported operations. */
export function composeApis(config: Config, needs: ApiNeeds) {
  const { apis, pipeline, clock, log, secretsOf } = needs
  const wayOut = { ...upstreamOptions(config), addressBook: new AddressBook(clock) }
  const fetch = needs.fetch ?? openGuardedFetch(wayOut)
  const onTrouble = (upstream: string, reason: string) => log.warn('upstream', { provider: upstream, reason })
  const deps = {
    fetch,
    fetchStream: openGuardedStreams(wayOut),
    secretsOf,
    tokens: new ClientCredentialTokens({ fetch, secretsOf, clock, onTrouble }),
    paying: needs.paying,
    streams: { clock, longestStreamMs: MAX_STREAM_MS, onTrouble },
    cache: new ByteCache<ApiAnswer>(clock, MAX_CACHE_BYTES / (config.workers + 1)),
    slots: new Shares(),
    creditBuys: config.creditBuysPaidProviders,
    telemetry: pipeline.telemetry,
    onTrouble,
  }
  const inputs = new ApiInputs(compileJsonSchema)
  return { apis, apiCalls: new ApiCalls(pipeline, deps, inputs, apis), apiDeps: deps, apiInputs: inputs }
}

/** Requests to upstreams: public addresses, and private ones that the environment allows. */
function upstreamOptions(config: Config): GuardedFetchOptions {
  return {
    userAgent: `${PRODUCT} (+${config.baseUrl})`,
    permits: (text) => isAllowedPrivate(config, text),
  }
}

/** Link-local and metadata addresses never are. */
function isAllowedPrivate({ apis: { privateUpstreams } }: Config, text: string): boolean {
  const address = parseAddress(text)
  return address !== null && !isNeverAllowed(address) && (privateUpstreams?.includes(address) ?? false)
}

/** Whether upstreams may not have this host. Only addresses and `localhost` are known without a look-up. */
export function isClosedHost(config: Config, host: string): boolean {
  const text = host === 'localhost' ? '127.0.0.1' : host.replace(/^\[(.*)\]$/, '$1')
  return parseAddress(text) !== null && !publicAddress(text) && !isAllowedPrivate(config, text)
}

/** Opens the secrets of APIs: those of the environment, and those that are sealed in the database. */
export function openedSecrets({ sealingKeys, apis: { secrets } }: Config): SecretsOf {
  const ring = new KeyRing(sealingKeys)
  return (api, secret) => {
    if (secret.from === 'environment') return secrets.get(secret.name) ?? null
    try {
      return ring.open(secret.sealed, secretContext(api)).text
    } catch {
      return null
    }
  }
}
