import { LibraryGrants } from '../adapters/identity/oauth/oauth-grants'
import { prepareOAuth } from '../adapters/identity/oauth/oauth-upkeep'
import type { Database } from '../adapters/stores/libsql/open-database'
import type { Config } from '../config'
import type { AppGrantStore } from '../core/accounts/app-grant'
import { AppGrants } from '../core/accounts/app-grants'
import type { Identity } from '../core/accounts/identity'
import type { Keys } from '../core/accounts/keys'
import type { Clock } from '../core/clock'
import type { HoldStore } from '../core/ledger/hold'
import type { Ledger } from '../core/ledger/ledger'
import type { UsageReports } from '../core/usage/reports'
import { UsageAnswers } from '../http/usage/usage-answers'

interface AgentParts {
  readonly stores: Pick<Database, 'db' | 'tokenChanges'>
  readonly apps: AppGrantStore
  readonly holds: HoldStore
  readonly keys: Keys
  readonly clock: Clock
}

/** The parts for apps with OAuth tokens: the tokens' grants, and the app grants that their calls are counted on. */
export async function composeAgents({ baseUrl }: Config, { stores, apps, holds, keys, clock }: AgentParts) {
  const { db } = stores
  await prepareOAuth(db, baseUrl)
  const grants = new LibraryGrants({ db, baseUrl, changes: () => stores.tokenChanges(), now: () => clock.now() })
  return { grants, appGrants: new AppGrants({ store: apps, grants, holds, keys, clock }) }
}

interface AgentInterfaceParts {
  readonly ledger: Ledger
  readonly reports: UsageReports
  readonly identity: Identity
  readonly ownOrigins: ReadonlySet<string>
  readonly clock: Clock
}

/** The dependencies of the routes of apps and agents, in addition to the core. */
export function agentInterfaces(
  { baseUrl, isLoopback, corsOrigins }: Config,
  { ownOrigins, clock, ...core }: AgentInterfaceParts,
) {
  return { usage: new UsageAnswers({ ...core, now: () => clock.now() }), baseUrl, isLoopback, ownOrigins, corsOrigins }
}
