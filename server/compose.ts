import { join } from 'node:path'
import { closedUsers } from './adapters/identity/closed-users'
import { type IdentityOptions, openIdentity } from './adapters/identity/identity'
import { openGuardedFetch } from './adapters/outbound/guarded-fetch'
import type { WorkerThreads } from './adapters/stores/libsql/driver/worker/worker-threads'
import { localMedia } from './adapters/websearch/local/media'
import { app } from './app'
import { agentInterfaces, composeAgents } from './compose/agents'
import { composeImported } from './compose/apis/imported-apis'
import { openUpstreamWallet } from './compose/apis/upstream-payments'
import { composeAfterRestore } from './compose/backup/after-restore'
import { composeBackups } from './compose/backup/backup-schedule'
import { startCell } from './compose/cell-work'
import { closing } from './compose/closing'
import { withMessages } from './compose/cluster/calls/cell-messages'
import {
  brakeShareOf,
  type CellMembership,
  configOf,
  ownsControl,
  shareOf,
} from './compose/cluster/cells/cell-membership'
import { lowConcurrency } from './compose/cluster/cells/low-concurrency'
import { receiver, setupTokenOf, UsersOfCells } from './compose/cluster/cells/other-cells'
import { followControl } from './compose/cluster/follow-control'
import { type NodeSurroundings, nodeReadiness } from './compose/cluster/gateway-node'
import { billingBeside, operatorsOfCells, othersOf } from './compose/cluster/operators'
import { cellLoad } from './compose/cluster/roles/cell-load'
import { reverseUndecided } from './compose/cluster/undecided-charges'
import { openControl } from './compose/control'
import { openDatabases } from './compose/databases'
import { composeGuide } from './compose/guide'
import { composeModels } from './compose/models'
import { clientAddresses } from './compose/observing/client-addresses'
import { faultLog } from './compose/observing/fault-log'
import { composeTelemetry } from './compose/observing/telemetry'
import { openMailers, ownerSettings, passwordResets, signInEvents, signUpConfirmation } from './compose/owner-mail'
import { resealSecrets } from './compose/resealing'
import { roomForBodies } from './compose/room-for-bodies'
import { indexSources } from './compose/search/index-sources'
import { SearchIndex } from './compose/search/search-index'
import { openWebsearch } from './compose/search/websearch'
import { openSocial } from './compose/social'
import { StopState } from './compose/stop-state'
import { eventWriter } from './compose/webhooks'
import type { Config } from './config'
import { Keys } from './core/accounts/keys'
import { SignUp } from './core/accounts/sign-up'
import { AccountSearch } from './core/accounts/staff/account-search'
import { Operator } from './core/accounts/staff/operator'
import { type Clock, isoTime } from './core/clock'
import { MAIN_CELL } from './core/cluster/cells'
import { AT_ONCE, type Opening } from './core/cluster/opening'
import { TIER_LIMITS } from './core/limits/tier'
import { MAIL_FAILED } from './core/mail/mailer'
import type { OutboundFetch } from './core/outbound/outbound-fetch'
import type { Telemetry } from './core/telemetry/telemetry'
import { RecentLatencies } from './core/usage/recent-latencies'
import { PRODUCT } from './core/version'
import { OwnerSessions } from './http/middleware/caller/owner-session'
import { Cors } from './http/middleware/cors'
import { Gate } from './http/middleware/gate'
import { Intake } from './http/middleware/input/intake'
import { normalizeUrl } from './http/middleware/normalize-url'
import { type DataProviders, PricedCalls, pricedRoutes } from './http/middleware/priced'
import type { ContextDeps } from './http/middleware/request-context'
import { CompressedResponses, isCompressible } from './http/middleware/response/compressed-response'
import { securedResponse } from './http/middleware/response/secured-response'
import type { OtherCells } from './http/operator/cells/operator-cells'
import { controlHandler } from './http/operator/control'
import { Thumbnails } from './http/search/thumbnails'
import { type DashboardFiles, loadDashboard } from './http/system/dashboard-files'
import { Readiness } from './http/system/readiness'
import type { Log } from './log'

const ROOT = join(import.meta.dir, '..')
/** Where the build puts the dashboard. */
export const DASHBOARD = join(ROOT, 'dashboard', 'dist')
/** Reads the built dashboard. */
export const readDashboard = () => loadDashboard(DASHBOARD)

export interface Surroundings {
  readonly clock: Clock
  /** Whether a clock is believed that is far from the last entry's time. */
  readonly acceptsClock: boolean
  /** A monotonic clock, for tests. */
  readonly stopwatch?: Clock
  readonly log: Log
  /** Called when the process must end: another one owns the database, or an essential worker died. */
  readonly onFatal: (reason: string) => void
  /** Of one node of many (ADR 46). */
  readonly node?: NodeSurroundings
  /** If there are several cells (ADR 45): how this gateway reaches the others. */
  readonly others?: OtherCells
  /** If there are several cells: the operator for whom `main` asks this gateway. */
  readonly staffOf?: NonNullable<ContextDeps['staffOf']>
  /** Requests to untrusted URLs, for tests. */
  readonly outbound?: OutboundFetch
  /** The ping interval of live connections, for tests. */
  readonly pingMs?: number
  /** Search providers, for tests. */
  readonly providers?: ClosableProviders
  /** A hash of passwords that takes no time, for tests. */
  readonly passwordHash?: IdentityOptions['passwordHash']
  /** The built dashboard, if it is already loaded: the gateways of a process share it. */
  readonly dashboard?: DashboardFiles
  /** One of several cells; without it the gateway is alone (ADR 52). */
  readonly cell?: CellMembership
  /** When it owns the accounts; at once if it does not say. */
  readonly opening?: Opening
  /** The worker threads of the stores, for tests. */
  readonly threads?: WorkerThreads
}

interface ClosableProviders extends DataProviders {
  /** Whether each provider can respond now, by name, for `/ready`. */
  sources?(): Promise<Readonly<Record<string, boolean>>>
  close?(): Promise<void>
}

/** The gateway, or the one of a cell beside those of others. Does not listen yet. */
export async function compose(config: Config, surroundings: Surroundings) {
  const { cell: place, log, node } = surroundings
  const gateway = await composeGateway(configOf(config, place), surroundings)
  const { ledger, stores } = gateway.core
  const following =
    place &&
    (await followControl(stores.copies, log).catch(async (error: unknown) => {
      await gateway.close()
      throw error
    }))
  const reversing = { reverseUndecided: reverseUndecided({ ledger, log }), term: () => node?.lease.term ?? null }
  const receive = receiver({ ...gateway, ...reversing })
  return {
    ...gateway,
    /** Does what the gateway of another cell tells this one. */
    receive,
    control: withMessages(gateway.control, { receive, relay: gateway.rail.relay }),
    async close() {
      await following?.close()
      await gateway.close()
    },
  }
}

/** The only place that chooses adapters and passes them to the core. */
async function composeGateway(config: Config, surroundings: Surroundings) {
  const { clock, log, cell: place, stopwatch = STOPWATCH, opening = AT_ONCE } = surroundings
  const core = await composeCore(config, surroundings)
  const { stores, accounts, reloadModels, syncDirectory } = core
  const shares = { shareOf: shareOf(place), brakeShareOf: brakeShareOf(place) }
  const ofCell = { ...shares, hasOtherCells: (place?.all.length ?? 1) > 1, place }
  const later = () => ({ pipeline, models, billing, readiness, backups })
  const { telemetry, ...observed } = await composeTelemetry(config, { log, clock, stopwatch, opening, core, later })
  const providers = surroundings.providers ?? searchProviders(config, surroundings, telemetry)
  const { people, users, ownOrigins, mailers } = composeIdentity(config, surroundings, core)
  const { identity } = people
  const linked = openSocial(config, { ...core, identity, clock, log, opening, store: stores.social })
  const others = othersOf(surroundings, stores)
  const beside = billingBeside(others, surroundings.node)
  const timed = { clock, stopwatch, log, opening }
  const work = await startCell(config, { ...core, ...mailers, ...ofCell, ...beside, ...timed, telemetry })
  const { billing, pipeline, webhooks, retention } = work
  const auth = { ...core, clock, anonymousLimits: anonymousLimits(config), ...billing.auth }
  const models = composeModels(config, stores, pipeline, { ...core, ...ofCell, search: providers.context, log })
  const imported = await composeImported(config, { ...core, ...ofCell, ...timed, pipeline, ownOrigins })
  const backups = composeBackups(config, { ...surroundings, stores })
  const restored = await composeAfterRestore(config, { ...surroundings, ...stores })
  const stopping = new StopState(core.events)
  const { index, readiness } = composeReadiness(config, { core, providers, models, backups, stopping, surroundings })
  const { accountIdOf } = users
  const settings = ownerSettings({ ...core, ...linked, accountIdOf, identity, config, clock, ...mailers, log })
  const { cells, elsewhere } = operatorsOfCells(others, { ...core, identity })
  const shared = { ...core, ...models, ...imported, ...settings, ...people, ...billing.routes, ...restored }
  const web = app({
    ...{ ...shared, ...linked, baseUrl: config.baseUrl },
    ...agentInterfaces(config, { ...core, identity, ownOrigins, clock }),
    gate: new Gate({ auth, journal: core.journal, telemetry, baseUrl: config.baseUrl }),
    contexts: contextsOf(config, surroundings, core.intake),
    ...{ ...webhooks.routes, ...observed.routes, guide: composeGuide(ROOT), cells, users },
    owners: new OwnerSessions({ ...core, identity, ownOrigins, secondFactors: config.secondFactors, elsewhere }),
    dashboard: surroundings.dashboard ?? (await readDashboard()),
    icons: localMedia(join(ROOT, 'node_modules', 'lucide-static', 'icons')),
    isDraining: stopping.isDraining,
    onFault: faultLog(log),
    priced: new PricedCalls(pipeline, pricedRoutes(providers, linked.social)),
    thumbnails: new Thumbnails(core.strangers, () => clock.now()),
    readiness,
    now: () => clock.now(),
    ...(surroundings.pingMs && { pingMs: surroundings.pingMs }),
  })
  const control = controlHandler({
    ...{ ...shared, ...backups.commands, webhooks: webhooks.routes.webhooks, baseUrl: config.baseUrl },
    ...{ network: () => billing.moneyIn.rail.network(), published: () => billing.moneyIn.rail.published() },
    ...{ readiness, nodes: surroundings.node?.report ?? null, cells },
    onFault: faultLog(log),
    now: () => clock.now(),
  })
  const answer = (request: Request) => observed.endpoint?.onMainPort(request) ?? web.fetch(request)
  return {
    app: web,
    /** Handles a request. */
    fetch: securedBy(config, answer),
    core,
    ...{ sandbox: linked.sandbox, social: linked.social },
    ...{ ...billing.moneyIn, ...webhooks.senders, retention, backups, upstreamPayments: imported.upstreamPayments },
    control,
    ...{ accounts, setupToken: core.setupToken, metrics: observed.endpoint },
    /** Whether there is no operator yet. */
    needsOperator: async () => stores.directory.withRole('operator').length === 0,
    /** The longest deadline of a call. */
    longestCallMs: () => Math.max(models.longestCallMs(), ...core.apis.routes.apis.map(({ timeoutMs }) => timeoutMs)),
    /** Resolves when no call is in progress. Aborts those that still run after `maxMs`. */
    streamsEnded: (maxMs: number) => pipeline.openCalls.ended(maxMs),
    /** Has done once what the first calls would wait for: the threads of searches, and the handler of requests. */
    warm: () => Promise.all([providers.context.ready(), web.fetch(new Request('http://localhost/health'))]),
    load: () => cellLoad({ stores, accounts, openCalls: pipeline.openCalls }),
    ...{ stopping, reloadModels, syncDirectory, index, users, takeOffSale: imported.takeOffSale },
    close: closing([[work, backups], [imported.upstreamPayments, providers, models, observed], [linked]], core),
  }
}

function searchProviders(config: Config, { clock, log }: Surroundings, telemetry: Telemetry): ClosableProviders {
  const onTrouble = (provider: string, reason: string) => log.warn('upstream', { provider, reason })
  return openWebsearch(config, indexSources(config.dataDir).indexPath, { clock, telemetry, onTrouble })
}

function guardedFetch({ baseUrl }: Config, given: OutboundFetch | undefined): OutboundFetch {
  return given ?? openGuardedFetch({ userAgent: `${PRODUCT} (+${baseUrl})` })
}

function anonymousLimits({ anonymousRpm }: Config) {
  return { ...TIER_LIMITS.free, rpm: anonymousRpm }
}

interface ReadinessParts {
  readonly core: Pick<Awaited<ReturnType<typeof composeCore>>, 'checks' | 'stuck' | 'apis' | 'catalog'>
  readonly providers: ClosableProviders
  readonly models: ReturnType<typeof composeModels>
  readonly backups: Pick<ReturnType<typeof composeBackups>, 'warning'>
  readonly stopping: StopState
  readonly surroundings: Pick<Surroundings, 'node' | 'cell'>
}

function composeReadiness({ dataDir }: Config, parts: ReadinessParts) {
  const { core, providers, models, backups, stopping, surroundings } = parts
  const { sources, context } = providers
  const index = new SearchIndex(indexSources(dataDir), () => context.ready())
  const places = () => lowConcurrency(surroundings.cell, { apis: core.apis.routes.apis, models: core.catalog.list() })
  const readiness = new Readiness({
    ...{ ...models, ...nodeReadiness({ ...core.checks, search: () => index.problem() }, surroundings.node) },
    sources: sources ?? (async () => ({ search: await context.ready() })),
    warnings: { backups: backups.warning, stuck: () => core.stuck.warning(), places: async () => places() },
    isDraining: stopping.isAnnounced,
  })
  return { index, readiness }
}

function contextsOf(config: Config, surroundings: Surroundings, intake: Intake): ContextDeps {
  const { clock, log, node, cell } = surroundings
  // With one cell nobody asks for operators, and no request is looked at for it.
  const staffOf = surroundings.staffOf ?? (cell && node?.staffOf)
  return { clock, intake, addressOf: clientAddresses(config, log), ...node?.callers, ...(staffOf && { staffOf }) }
}

/** Normalizes the URL of each request, adds security headers to each response and compresses those that may be. */
function securedBy({ baseUrl, corsOrigins }: Config, answer: (request: Request) => Response | Promise<Response>) {
  const isHttps = baseUrl.startsWith('https:')
  const compressed = new CompressedResponses()
  const cors = new Cors(corsOrigins)
  return async (original: Request): Promise<Response> => {
    const request = normalizeUrl(original)
    const answered = cors.preflight(request) ?? cors.open(request, await answer(request))
    const response = securedResponse(answered, request.url, isHttps)
    return isCompressible(request) ? compressed.of(request, response) : response
  }
}

const STOPWATCH: Clock = { now: () => performance.now() }

/** Money, keys and limits. Closes the databases if one of them cannot be made: a node tries again in the same process. */
async function composeCore(config: Config, surroundings: Surroundings) {
  const { clock, stopwatch = STOPWATCH } = surroundings
  const latencies = config.metrics && new RecentLatencies(clock)
  const opened = await openDatabases(config, { ...surroundings, stopwatch, latencies })
  try {
    return { latencies, ...(await coreOf(config, { ...surroundings, stopwatch }, opened)) }
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function coreOf(
  config: Config,
  { clock, stopwatch, log, outbound, cell: place, opening = AT_ONCE }: Surroundings & { readonly stopwatch: Clock },
  { stores, cell, close }: Awaited<ReturnType<typeof openDatabases>>,
) {
  const isResealed = await resealSecrets(config, stores.sealedTexts, { log, opening })
  const control = await openControl(config, stores, { clock, opening })
  const { accounts, credentials, holds, events, ledger, journal, writeEvent } = cell
  const { apis, catalog, prices } = control
  const setupToken = setupTokenOf(place, control.setupToken)
  return {
    ...{ stores, isResealed, ...control, setupToken },
    ...{ accounts, credentials, apps: cell.apps, holds, events, ledger, journal },
    ...{ money: cell.money, limiter: cell.limiter, stuck: cell.stuck, syncDirectory: cell.syncDirectory },
    paying: await openUpstreamWallet(config, stores.upstreamPayments, { clock, opening }),
    /** Requests to addresses that strangers supply. */
    strangers: guardedFetch(config, outbound),
    audit: stores.audit,
    checks: { database: () => stores.problem(), charges: () => cell.chargesProblem() },
    ...{ reports: stores.reports, operationUsage: stores.operationUsage, statements: stores.statements },
    ...(await composeAgents(config, {
      stores,
      apps: cell.apps,
      holds,
      clock,
      opening,
      ownsControl: ownsControl(place),
    })),
    intake: new Intake(place?.bodies ?? roomForBodies(), stopwatch),
    keys: new Keys({
      ...{ credentials, holds, clock, events },
      isOnSale: (name) => apis.routes.byName(name) !== null,
      isModel: (id) => catalog.byId(id) !== null,
    }),
    operator: new Operator({
      ...{ accounts, prices, ledger, clock, events },
      ...{ audit: stores.audit, isClosed: closedUsers(stores.controlDb) },
      hasOperatorBeside: (account) => stores.directory.hasOperatorBeside(account),
      recordsBooks: ownsControl(place),
      claimReference: async (reference) => (await cell.claims?.reference(reference)) ?? true,
    }),
    limitRequests: cell.limitRequests,
    signUp: new SignUp({
      ...{ accounts, directory: stores.directory, ledger, clock, setupToken, credits: stores.signupCredits },
      ...{ cell: place?.name ?? MAIN_CELL, cells: place?.all ?? [MAIN_CELL] },
      firstIsOperator: config.firstAccountIsOperator,
      confirms: config.mail !== null,
      production: config.production,
      secret: config.secretKey,
      onCreditRefused(brake) {
        log.warn('an account opened without signup credit', { brake })
        writeEvent('signup.blocked', `${brake}_${isoTime(clock.now()).slice(0, 13)}`, { brake })
      },
    }),
    /** Finishes pending writes, then closes the databases. */
    closeDatabases: close,
  }
}

function composeIdentity(
  config: Config,
  { clock, log, passwordHash, cell: place }: Surroundings,
  { stores, signUp, accounts, appGrants, grants, events, strangers }: Awaited<ReturnType<typeof composeCore>>,
) {
  const loopbacks = ['localhost', '127.0.0.1'].map((name) => `http://${name}:${config.port}`)
  const ownOrigins = new Set([config.baseUrl, ...loopbacks])
  const mailers = openMailers(config, { clock, log, brakeShareOf: brakeShareOf(place) })
  const { mailer, linkMailer } = mailers
  const { directory } = stores
  const users = new UsersOfCells({
    place,
    accounts,
    directory,
    events,
    appGrants,
    grants,
    webhooks: stores.webhooks,
    log,
  })
  const { accountIdOf, disconnectApps } = users
  const parts = { accountIdOf, signUp, audit: stores.audit, clock }
  const identity = openIdentity({
    ...passwordResets({ ...parts, mailer: linkMailer, baseUrl: config.baseUrl, disconnectApps }),
    signInEvents: signInEvents({
      ...{ ...parts, mailer, writeEvent: eventWriter(stores.webhooks, clock, log) },
      onMailFailure: (reason) => log.error(MAIL_FAILED, { reason }),
    }),
    confirmation: signUpConfirmation({ mailer: linkMailer, config, signUp, clock }),
    db: stores.controlDb,
    secret: config.secretKey,
    baseUrl: config.baseUrl,
    trustedOrigins: [...ownOrigins],
    signUpPerMinute: config.signUpRpm,
    production: config.production,
    onSignUp: async ({ id }, { address, isFromThisMachine }) => {
      if (!(await signUp.openAccount(id, { address, isFromThisMachine })) && !(await signUp.isElsewhere(id)))
        throw new Error('the account could not be saved')
    },
    onSessionEnd: users.sessionEnded,
    fetchDocument: strangers,
    onFault: ({ requestId, reason }) => log.error('sign-in', { requestId, reason }),
    clock,
    passwordHash,
  })
  const search = new AccountSearch({ accounts, directory: stores.directory, finder: stores.finder })
  return { people: { identity, search, notes: stores.notes, directory: stores.directory }, users, ownOrigins, mailers }
}
