import { BodyParser } from '../adapters/models/body-parser'
import { modelsOfFile } from '../adapters/models/models-file'
import { SANDBOX_MODELS } from '../adapters/models/sandbox/sandbox-models'
import { TokenThread } from '../adapters/models/tokens/token-thread'
import { UpstreamRouter } from '../adapters/models/upstream-router'
import type { Config } from '../config'
import type { LlmContextInput } from '../core/catalogue/llm-context'
import type { PriceStore } from '../core/catalogue/prices'
import type { Clock } from '../core/clock'
import type { Journal } from '../core/ledger/journal'
import type { Ledger } from '../core/ledger/ledger'
import type { Limiter } from '../core/limits/limiter'
import { ModelCatalogue, type ModelStore } from '../core/models/catalogue'
import type { Model } from '../core/models/model'
import { ModelAdmin } from '../core/models/model-admin'
import { formatUsd } from '../core/money'
import type { Provider } from '../core/providers/provider'
import { ModelCalls } from '../http/models/model-calls'
import { ResearchCalls } from '../http/models/research-calls'
import type { Log } from '../log'
import { balanceFunding } from '../pipeline/funding/balance'
import type { Idempotency } from '../pipeline/idempotency/idempotency'
import { Drains } from '../pipeline/models/drains'
import type { ModelDeps } from '../pipeline/models/model-call'
import { OpenStreams } from '../pipeline/models/open-streams'

const MAX_STREAM_MS = 30 * 60_000
/** Above the deadline of every other operation. */
const MAX_SEARCH_MS = 30_000

/** Models: the sandbox's, the file's and the operator's, their upstreams, and who pays for them. */
export async function composeModels(
  config: Config,
  core: {
    readonly stores: { readonly models: ModelStore }
    readonly ledger: Ledger
    readonly limiter: Limiter
    readonly journal: Pick<Journal, 'note'>
    readonly prices: PriceStore
  },
  parts: {
    /** What research searches with. */
    readonly search: Provider<LlmContextInput>
    readonly idempotency: Idempotency
    readonly clock: Clock
    readonly log: Log
  },
) {
  const { stores, ledger, limiter, journal, prices } = core
  const { search, idempotency, clock, log } = parts
  const { file, sandbox, keyOf, defaultOutputTokens } = config.models
  const onTrouble = (upstream: string, reason: string) => log.warn('model upstream', { upstream, reason })
  const fixed = [
    ...(sandbox ? SANDBOX_MODELS : []),
    ...(file === null ? [] : await modelsOfFile(file, Math.floor(clock.now() / 1000))),
  ]
  const inputs = new TokenThread()
  const deps: ModelDeps = {
    catalogue: new ModelCatalogue(fixed, stores.models),
    backend: new UpstreamRouter({ keyOf, now: () => clock.now(), onTrouble }),
    limiter,
    ledger,
    journal,
    clock,
    funding: balanceFunding(ledger),
    idempotency,
    // Unlimited sign-ups must not spend the operator's money (spec-answers 4).
    creditBuysPaid: config.creditBuysPaidProviders,
    streams: new OpenStreams(),
    drains: new Drains(),
    inputs,
    defaultCap: defaultOutputTokens,
    longestStreamMs: MAX_STREAM_MS,
    onTrouble,
    onOverrun: (requestId, model, amount) =>
      log.error('a model cost more than was held; the house bears the rest', {
        requestId,
        model,
        usd: formatUsd(amount),
      }),
  }
  return {
    models: deps.catalogue,
    modelAdmin: new ModelAdmin(stores.models, clock),
    streams: deps.streams,
    longestCallMs: () =>
      Math.max(
        MAX_SEARCH_MS,
        ...deps.catalogue.list().flatMap(({ upstreams }) => upstreams.map(({ firstByteMs }) => firstByteMs)),
      ),
    close: () => inputs.close(),
    upstreams: (models: readonly Model[]) => deps.backend.states(models),
    modelCalls: new ModelCalls(deps, new BodyParser()),
    researchCalls: new ResearchCalls({ ...deps, prices, search }),
  }
}
