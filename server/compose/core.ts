import { openGuardedFetch } from '../adapters/outbound/guarded-fetch'
import type { Config } from '../config'
import { Keys } from '../core/accounts/keys'
import { SignUp } from '../core/accounts/sign-up'
import { Operator } from '../core/accounts/staff/operator'
import { type Clock, isoTime } from '../core/clock'
import { MAIN_CELL } from '../core/cluster/cells'
import { AT_ONCE } from '../core/cluster/opening'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import { RecentLatencies } from '../core/usage/recent-latencies'
import { PRODUCT } from '../core/version'
import { Intake } from '../http/middleware/input/intake'
import { UnreadAnswers } from '../http/middleware/response/unread-answers'
import { composeAgents } from './agents'
import { openUpstreamWallet } from './apis/upstream-payments'
import { ownsControl } from './cluster/cells/cell-membership'
import { setupTokenOf } from './cluster/cells/other-cells'
import { openControl } from './control'
import { openDatabases } from './databases'
import { resealSecrets } from './resealing'
import { roomForAnswers, roomForBodies } from './room-for-bodies'
import type { Surroundings } from './surroundings'

export const STOPWATCH: Clock = { now: () => performance.now() }

export type ComposedCore = Awaited<ReturnType<typeof composeCore>>

/** Money, keys and limits. Closes the databases if one of them cannot be made: a node tries again in the same process. */
export async function composeCore(config: Config, surroundings: Surroundings) {
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
  {
    clock,
    stopwatch,
    log,
    outbound,
    cell: membership,
    opening = AT_ONCE,
  }: Surroundings & { readonly stopwatch: Clock },
  { stores, cell, close }: Awaited<ReturnType<typeof openDatabases>>,
) {
  const isResealed = await resealSecrets(config, stores.sealedTexts, { log, opening })
  const control = await openControl(config, stores, { clock, opening })
  const { accounts, credentials, holds, events, ledger, journal, writeEvent } = cell
  const { apis, catalog, prices } = control
  const setupToken = setupTokenOf(membership, control.setupToken)
  const keys = new Keys({
    ...{ accounts, apps: cell.apps, credentials, holds, clock, events },
    isOnSale: (name) => apis.routes.byName(name) !== null,
    isModel: (id) => catalog.byId(id) !== null,
  })
  return {
    ...{ stores, isResealed, ...control, setupToken },
    ...{ accounts, credentials, apps: cell.apps, holds, events, ledger, journal, charges: cell.charges },
    ...{ money: cell.money, limiter: cell.limiter, stuck: cell.stuck, syncDirectory: cell.syncDirectory },
    paying: await openUpstreamWallet(config, stores.upstreamPayments, { clock, opening }),
    /** Requests to addresses that strangers supply. */
    strangers: guardedFetch(config, outbound),
    audit: stores.audit,
    checks: { database: () => stores.problem(), charges: () => cell.charges.problem() },
    archive: stores.archive,
    ...{ reports: stores.reports, operationUsage: stores.operationUsage, statements: stores.statements },
    ...(await composeAgents(config, {
      stores,
      apps: cell.apps,
      holds,
      keys,
      clock,
      opening,
      ownsControl: ownsControl(membership),
    })),
    intake: new Intake(membership?.bodies ?? roomForBodies(), stopwatch),
    unread: new UnreadAnswers(roomForAnswers(), stopwatch),
    keys,
    operator: new Operator({
      ...{ accounts, prices, ledger, clock, events },
      audit: stores.audit,
      hasOperatorBeside: (account) => stores.directory.hasOperatorBeside(account),
      recordsBooks: ownsControl(membership),
      claimReference: async (reference) => (await cell.claims?.reference(reference)) ?? true,
    }),
    limitRequests: cell.limitRequests,
    signUp: new SignUp({
      ...{ accounts, directory: stores.directory, ledger, clock, setupToken, credits: stores.signupCredits },
      ...{ cell: membership?.name ?? MAIN_CELL, cells: membership?.all ?? [MAIN_CELL] },
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

function guardedFetch({ baseUrl }: Config, given: OutboundFetch | undefined): OutboundFetch {
  return given ?? openGuardedFetch({ userAgent: `${PRODUCT} (+${baseUrl})` })
}
