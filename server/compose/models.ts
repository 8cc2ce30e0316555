import { BodyParser } from '../adapters/models/body-parser'
import PRICE_SHEET from '../adapters/models/price-sheet.json'
import { SANDBOX_MODELS } from '../adapters/models/sandbox/sandbox-models'
import { TokenThread } from '../adapters/models/tokens/token-thread'
import { UpstreamRouter } from '../adapters/models/upstream-router'
import type { Config } from '../config'
import type { LlmContextInput } from '../core/catalog/llm-context'
import type { PriceStore } from '../core/catalog/prices'
import type { Clock } from '../core/clock'
import type { Model } from '../core/models/model'
import { ModelCatalog, type ModelStore } from '../core/models/model-catalog'
import type { VendorKeyOf } from '../core/models/model-vendors'
import { CurrentSheet } from '../core/models/price-sheet'
import type { Provider } from '../core/providers/provider'
import { ModelCalls } from '../http/models/model-calls'
import { ResearchCalls } from '../http/models/research-calls'
import type { Log } from '../log'
import { ByteCache } from '../pipeline/byte-cache'
import { AnswerCache } from '../pipeline/models/answer-cache'
import { ItemMemory } from '../pipeline/models/item-memory'
import { type Items, LocalItems } from '../pipeline/models/item-references'
import type { ModelDeps } from '../pipeline/models/model-call'
import type { PipelineDeps } from '../pipeline/paid-call'
import { MAX_STREAM_MS } from '../pipeline/stream'
import { configuredModels } from './configured-models'

/** The memory of kept answers, of all processes together. */
const MAX_CACHE_BYTES = 64 * 1024 * 1024
/** More than the deadline of every other operation. */
const MAX_SEARCH_MS = 30_000

/** The models of the sandbox, MODELS_FILE and the database. */
export async function openModelCatalog(
  { models }: Config,
  stores: { readonly models: ModelStore; readonly prices: PriceStore },
  clock: Clock,
) {
  const created = Math.floor(clock.now() / 1000)
  const fixed = async () => {
    const listed = await configuredModels(models, created)
    const [problem, ...others] = listed.problems
    if (problem !== undefined)
      throw new Error(others.length === 0 ? problem : `${problem} ("gateway config check" lists ${others.length} more)`)
    return [...(models.sandbox ? SANDBOX_MODELS : []), ...listed.models]
  }
  const catalog = new ModelCatalog(await fixed(), stores.models, (model, account) =>
    stores.prices.modelOverride(model, account),
  )
  return {
    catalog,
    /** Reads MODELS_FILE again. Returns the ids of models that changed. Throws, and changes nothing, if it cannot be used. */
    reloadModels: async () => catalog.replaceFixed(await fixed()),
  }
}

/** The models of the catalog, with their upstreams and funding. */
export function composeModels(
  config: Config,
  pipeline: PipelineDeps,
  parts: {
    readonly catalog: ModelCatalog
    readonly vendorKeyOf: VendorKeyOf
    /** The search provider for research. */
    readonly search: Provider<LlmContextInput>
    readonly log: Log
    readonly items?: Items
  },
) {
  const { decisions, clock, telemetry } = pipeline
  const { catalog, vendorKeyOf, search, log, items = new LocalItems(new ItemMemory(clock)) } = parts
  const { keyOf, defaultOutputTokens } = config.models
  const onTrouble = (upstream: string, reason: string) => log.warn('model upstream', { upstream, reason })
  const inputs = new TokenThread()
  const deps: ModelDeps = {
    catalog,
    backend: new UpstreamRouter({ keyOf, vendorKeyOf, now: () => clock.now(), telemetry, onTrouble }),
    decisions,
    clock,
    // Unlimited sign-ups must not spend the operator's money (spec D4).
    creditBuysPaid: config.creditBuysPaidProviders,
    inputs,
    items,
    answers: new AnswerCache(new ByteCache(clock, MAX_CACHE_BYTES / (config.workers + 1))),
    defaultCap: defaultOutputTokens,
    longestStreamMs: MAX_STREAM_MS,
    telemetry,
    onTrouble,
  }
  return {
    items,
    models: deps.catalog,
    priceSheet: new CurrentSheet(PRICE_SHEET),
    longestCallMs: () =>
      Math.max(
        MAX_SEARCH_MS,
        ...deps.catalog.list().flatMap(({ upstreams }) => upstreams.map(({ firstByteMs }) => firstByteMs)),
      ),
    close: () => inputs.close(),
    upstreams: (models: readonly Model[]) => deps.backend.states(models),
    modelCalls: new ModelCalls(pipeline, deps, new BodyParser()),
    researchCalls: new ResearchCalls(pipeline, { ...deps, prices: pipeline.prices, search }),
  }
}
