import { openGuardedFetch } from '../adapters/outbound/guarded-fetch'
import { LibsqlAppGrants } from '../adapters/stores/libsql/app-grants'
import type { Stores } from '../adapters/stores/libsql/stores'
import { MemoryEvents } from '../adapters/stores/memory/events'
import { LoadedHolds } from '../adapters/stores/memory/loaded-holds'
import { MemoryWindows } from '../adapters/stores/memory/windows'
import type { Config } from '../config'
import { Keys } from '../core/accounts/keys'
import { SignUp } from '../core/accounts/sign-up'
import { LimitRequests } from '../core/accounts/staff/limit-requests'
import { Operator } from '../core/accounts/staff/operator'
import { SetupToken } from '../core/accounts/staff/setup-token'
import { type Clock, isoTime } from '../core/clock'
import { Limiter } from '../core/limits/limiter'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import { RecentLatencies } from '../core/usage/recent-latencies'
import { PRODUCT } from '../core/version'
import { Intake } from '../http/middleware/input/intake'
import { UnreadAnswers } from '../http/middleware/response/unread-answers'
import { composeAgents } from './agents'
import { openUpstreamWallet } from './apis/upstream-payments'
import { openData } from './data'
import { composeLedger } from './ledger'
import { openOnSale } from './on-sale'
import { resealSecrets } from './resealing'
import { roomForAnswers, roomForBodies } from './room-for-bodies'
import type { Surroundings } from './surroundings'

export const STOPWATCH: Clock = { now: () => performance.now() }

export type ComposedCore = Awaited<ReturnType<typeof composeCore>>

/** Money, keys and limits. Closes the database if one of them cannot be made. */
export async function composeCore(config: Config, surroundings: Surroundings) {
  const holds = new LoadedHolds()
  const { stores, close } = await openData(config, surroundings, holds)
  try {
    return { ...(await coreOf(config, surroundings, { stores, holds })), closeDatabase: close }
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
  const { accounts, credentials, audit, directory } = stores
  const latencies = config.metrics && new RecentLatencies(clock)
  const events = new MemoryEvents()
  const isResealed = await resealSecrets(config, stores.sealedTexts, log)
  const books = await composeLedger({ stores, holds, events, clock, stopwatch, log, latencies })
  const { ledger, charges } = books
  const onSale = await openOnSale(config, stores, clock)
  const { apis, catalog, prices } = onSale
  const apps = new LibsqlAppGrants(stores.db, (reason) =>
    log.warn('the last use of an app could not be saved', { reason }),
  )
  const keys = new Keys({
    accounts,
    apps,
    credentials,
    holds,
    clock,
    events,
    isOnSale: (name) => apis.routes.byName(name) !== null,
    isModel: (id) => catalog.byId(id) !== null,
  })
  const setupToken = new SetupToken()
  return {
    ...books,
    ...onSale,
    ...(await composeAgents(config, { stores, apps, holds, keys, clock })),
    stores,
    latencies,
    isResealed,
    accounts,
    credentials,
    apps,
    holds,
    events,
    keys,
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
    intake: new Intake(roomForBodies(), stopwatch),
    unread: new UnreadAnswers(roomForAnswers(), stopwatch),
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
    signUp: new SignUp({
      accounts,
      directory,
      ledger,
      clock,
      setupToken,
      credits: stores.signupCredits,
      firstIsOperator: config.firstAccountIsOperator,
      confirms: config.mail !== null,
      production: config.production,
      secret: config.secretKey,
      onCreditRefused(brake) {
        log.warn('an account opened without signup credit', { brake })
        books.writeEvent('signup.blocked', `${brake}_${isoTime(clock.now()).slice(0, 13)}`, { brake })
      },
    }),
  }
}

function guardedFetch({ baseUrl }: Config, given: OutboundFetch | undefined): OutboundFetch {
  return given ?? openGuardedFetch({ userAgent: `${PRODUCT} (+${baseUrl})` })
}
