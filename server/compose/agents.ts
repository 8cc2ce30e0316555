import { LibraryGrants } from '../adapters/identity/oauth-grants'
import { prepareOAuth } from '../adapters/identity/oauth-upkeep'
import { LibsqlConnections } from '../adapters/stores/libsql/connections'
import type { Config } from '../config'
import { Connections } from '../core/accounts/connections'
import type { Clock } from '../core/clock'
import type { HoldStore } from '../core/ledger/hold'
import type { Log } from '../log'

interface AgentParts {
  readonly db: ConstructorParameters<typeof LibsqlConnections>[0]
  readonly holds: HoldStore
  readonly clock: Clock
  readonly log: Log
}

/** What apps with an OAuth token need: what was issued to them, and the connections that their calls are counted on. */
export async function composeAgents({ baseUrl }: Config, { db, holds, clock, log }: AgentParts) {
  await prepareOAuth(db, baseUrl)
  const grants = new LibraryGrants(db, baseUrl)
  const apps = new LibsqlConnections(db, (reason) =>
    log.warn('the last use of a connection was not written', { reason }),
  )
  return { grants, apps, connections: new Connections({ store: apps, grants, holds, clock }) }
}
