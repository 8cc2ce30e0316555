import { LibraryGrants } from '../adapters/identity/oauth/oauth-grants'
import { prepareOAuth } from '../adapters/identity/oauth/oauth-upkeep'
import { openGuardedFetch } from '../adapters/outbound/guarded-fetch'
import { KeyRing } from '../adapters/sealing/key-ring'
import { LibsqlAppGrants } from '../adapters/stores/libsql/app-grants'
import type { Stores } from '../adapters/stores/libsql/stores'
import { MemoryEvents } from '../adapters/stores/memory/events'
import { LoadedHolds } from '../adapters/stores/memory/loaded-holds'
import { MemoryWindows } from '../adapters/stores/memory/windows'
import type { Config } from '../config'
import { AppGrants } from '../core/accounts/app-grants'
import { Keys } from '../core/accounts/keys'
import { PoolBudgets } from '../core/accounts/pool-budgets'
import { SignUp } from '../core/accounts/sign-up'
import { LimitRequests } from '../core/accounts/staff/limit-requests'
import { Operator } from '../core/accounts/staff/operator'
import { SetupToken } from '../core/accounts/staff/setup-token'
import { ApiRegistry } from '../core/apis/api-store'
import { Closings } from '../core/apis/closings'
import type { PriceStore } from '../core/catalog/prices'
import { type Clock, isoTime } from '../core/clock'
import { WorkerCredentials } from '../core/credentials/worker-credentials'
import { BytesInProgress } from '../core/limits/bytes-in-progress'
import { Limiter } from '../core/limits/limiter'
import { type Limits, TIER_LIMITS } from '../core/limits/tier'
import { ModelAdmin } from '../core/models/model-admin'
import type { ModelStore } from '../core/models/model-catalog'
import { ModelVendors } from '../core/models/model-vendors'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import { resealTexts, type SealedTexts } from '../core/secrets/resealing'
import { RecentLatencies } from '../core/usage/recent-latencies'
import { PRODUCT } from '../core/version'
import { Intake } from '../http/middleware/input/intake'
import { UnreadAnswers, type UnreadCaps } from '../http/middleware/response/unread-answers'
import type { Log } from '../log'
import { openUpstreamWallet } from './apis/imported-apis'
import { openData } from './data'
import { composeLedger } from './ledger'
import { openModelCatalog } from './models'
import type { Surroundings } from './surroundings'

const MIB = 1024 * 1024

/**
 * The memory of this process for request bodies: 64 MiB per account or address, and in total 512 MiB or a quarter of
 * the memory, which it shares with its workers (spec D9).
 */
export function roomForBodies({ workers }: Pick<Config, 'workers'>): BytesInProgress {
  return new BytesInProgress({
    subject: 64 * MIB,
    all: Math.min(512 * MIB, process.constrainedMemory() / 4 / (workers + 1)),
  })
}

/** The same for answers that their readers have not taken: 32 MiB per account or address, and in total 256 MiB or an eighth of the memory. */
export function roomForAnswers({ workers }: Pick<Config, 'workers'>): UnreadCaps {
  return { owner: 32 * MIB, all: Math.min(256 * MIB, process.constrainedMemory() / 8 / (workers + 1)) }
}

export const STOPWATCH: Clock = { now: () => performance.now() }

export type ComposedCore = Awaited<ReturnType<typeof composeCore>>

/** Money, keys and limits. Closes the database if one of them cannot be made. */
export async function composeCore(config: Config, surroundings: Surroundings) {
  const holds = new LoadedHolds()
  const { stores, replication, close } = await openData(config, surroundings, holds)
  try {
    const { secretKey } = config
    const workerCredentials = new WorkerCredentials(stores.workerCredentials, secretKey, surroundings.clock)
    if (config.workersListener) await workerCredentials.load()
    const core = await coreOf(config, surroundings, { stores, holds })
    const closeDatabase = () => {
      core.kept.close()
      return close()
    }
    return { ...core, replication, workerCredentials, closeDatabase }
  } catch (error) {
    await close()
    throw error
  }
}

async function coreOf(
  config: Config,
  { clock, stopwatch = STOPWATCH, log, outbound }: Surroundings,
  { stores, holds }: { readonly stores: Stores; readonly holds: LoadedHolds },
) {
  const { accounts, credentials, audit, directory, members } = stores
  const latencies = config.metrics && new RecentLatencies(clock)
  const events = new MemoryEvents()
  const isResealed = await resealSecrets(config, stores.sealedTexts, log)
  const books = await composeLedger(config, { stores, holds, events, clock, stopwatch, log, latencies })
  const { ledger, charges } = books
  const onSale = await openOnSale(config, { stores, clock, log })
  const { prices } = onSale
  const apps = openAppGrants(stores, log)
  const poolBudgets = new PoolBudgets({ credentials, holds, clock })
  const keys = keysOf({ accounts, members, apps, credentials, holds, poolBudgets, clock, events }, onSale)
  const grants = await openGrants(config, stores, clock)
  const setupToken = new SetupToken()
  return {
    ...books,
    ...onSale,
    grants,
    appGrants: new AppGrants({ store: apps, grants, holds, keys, poolBudgets, clock }),
    stores,
    latencies,
    isResealed,
    accounts,
    credentials,
    apps,
    members,
    holds,
    events,
    keys,
    poolBudgets,
    audit,
    setupToken,
    limiter: new Limiter(new MemoryWindows(), clock),
    paying: await openUpstreamWallet(config, stores.upstreamPayments, clock),
    /** Requests to addresses that strangers supply. */
    strangers: guardedFetch(config, outbound),
    checks: { database: () => stores.problem(), charges: () => charges.problem() },
    archive: stores.archive,
    reports: stores.reports,
    operationUsage: stores.operationUsage,
    statements: stores.statements,
    intake: new Intake(roomForBodies(config), stopwatch),
    unread: new UnreadAnswers(roomForAnswers(config), stopwatch),
    operator: new Operator({
      accounts,
      prices,
      ledger,
      clock,
      events,
      audit,
      hasOperatorBeside: (account) => directory.hasOperatorBeside(account),
    }),
    limitRequests: new LimitRequests({ store: stores.limitRequests, accounts, ledger, clock, events }),
    signUp: openSignUp(config, { stores, books, clock, setupToken, log }),
  }
}

function keysOf(
  parts: Omit<ConstructorParameters<typeof Keys>[0], 'isOnSale' | 'isModel'>,
  { apis, catalog }: Awaited<ReturnType<typeof openOnSale>>,
): Keys {
  return new Keys({
    ...parts,
    isOnSale: (name) => apis.routes.byName(name) !== null,
    isModel: (id, buyer) => catalog.forBuyer(id, buyer) !== null,
  })
}

function openSignUp(
  config: Config,
  {
    stores,
    log,
    books: { ledger, writeEvent },
    ...parts
  }: {
    readonly stores: Stores
    readonly books: Awaited<ReturnType<typeof composeLedger>>
    readonly clock: Clock
    readonly setupToken: SetupToken
    readonly log: Log
  },
) {
  return new SignUp({
    ...stores,
    ...parts,
    ledger,
    credits: stores.signupCredits,
    firstIsOperator: config.firstAccountIsOperator,
    confirms: config.mail !== null,
    production: config.production,
    secret: config.secretKey,
    onCreditRefused(brake) {
      log.warn('an account opened without signup credit', { brake })
      writeEvent('signup.blocked', `${brake}_${isoTime(parts.clock.now()).slice(0, 13)}`, { brake })
    },
  })
}

function openAppGrants({ db }: Stores, log: Log) {
  return new LibsqlAppGrants(db, (reason) => log.warn('the last use of an app could not be saved', { reason }))
}

/** The grants of apps with OAuth tokens. */
async function openGrants({ baseUrl }: Config, stores: Stores, clock: Clock) {
  const { db } = stores
  await prepareOAuth(db, baseUrl)
  return new LibraryGrants({ db, baseUrl, changes: () => stores.tokenChanges(), now: () => clock.now() })
}

function guardedFetch({ baseUrl }: Config, given: OutboundFetch | undefined): OutboundFetch {
  return given ?? openGuardedFetch({ userAgent: `${PRODUCT} (+${baseUrl})` })
}

/** What is on sale and at what price. */
async function openOnSale(
  config: Config,
  { stores, clock, log }: { readonly stores: Stores; readonly clock: Clock; readonly log: Log },
) {
  const apis = new ApiRegistry()
  const apiClosings = new Closings(stores.apiClosings, (operation, reason) =>
    log.warn('upstream', { provider: `api ${operation}`, reason }),
  )
  const onSale = {
    async read() {
      const all = await stores.apis.all()
      return () => apis.replace(all)
    },
  }
  await stores.copies.add(onSale, apiClosings)
  const { catalog, reloadModels } = await openModelCatalog(config, stores, clock)
  /** Those that must know of a change of prices, models or APIs before it counts as done. */
  const listeners: (() => Promise<unknown>)[] = []
  const changed = () => Promise.all(listeners.map((listener) => listener()))
  const told = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change
    await changed()
    return result
  }
  const prices: PriceStore = {
    newest: (...of) => stores.prices.newest(...of),
    modelOverride: (...of) => stores.prices.modelOverride(...of),
    all: () => stores.prices.all(),
    add: (...what) => told(stores.prices.add(...what)),
  }
  const models: ModelStore = {
    all: () => stores.models.all(),
    entryOf: (id) => stores.models.entryOf(id),
    put: (...what) => told(stores.models.put(...what)),
    remove: (...what) => told(stores.models.remove(...what)),
  }
  const vendors = new ModelVendors({
    store: {
      all: () => stores.modelVendors.all(),
      put: (...what) => told(stores.modelVendors.put(...what)),
      remove: (...what) => told(stores.modelVendors.remove(...what)),
    },
    sealing: new KeyRing(config.sealingKeys),
    clock,
    models: () => catalog.list(),
  })
  const modelAdmin = new ModelAdmin(models, vendors, clock)
  return {
    apis,
    apiClosings,
    vendors,
    modelAdmin,
    catalog,
    reloadModels: () => told(reloadModels()),
    prices,
    listeners,
    changed,
  }
}

/**
 * Seals the secrets of webhooks, imported APIs and vendors of models with the newest key. Returns what says, once that is done, whether older keys can be removed as far as
 * these are concerned.
 */
async function resealSecrets({ sealingKeys }: Config, all: readonly SealedTexts[], log: Log): Promise<() => boolean> {
  let isComplete = true
  if (sealingKeys.length < 2) return () => isComplete
  const onTrouble = (reason: string) => {
    isComplete = false
    log.warn('sealing', { reason })
  }
  const sealing = new KeyRing(sealingKeys)
  let resealed = 0
  for (const texts of all) resealed += await resealTexts({ texts, sealing, onTrouble })
  if (resealed > 0)
    log.info('sealing: secrets of webhooks, APIs and vendors of models were sealed with the newest key', { resealed })
  return () => isComplete
}

/** The limits of callers whose tier does not say them. */
export function callerLimits({ anonymousRpm, visitorRpm, ownerRpm }: Config) {
  const perMinute = (rpm: number): Limits => ({ ...TIER_LIMITS.free, rpm })
  return {
    anonymousLimits: perMinute(anonymousRpm),
    visitorLimits: perMinute(visitorRpm),
    freeUnitsPerMinute: ownerRpm,
  }
}
