import { openIdentity } from '../adapters/identity/identity'
import { openProviderClient } from '../adapters/oauth/provider-client'
import type { Config } from '../config'
import type { AppsEnd } from '../core/accounts/app-grants'
import { AccountSearch } from '../core/accounts/staff/account-search'
import type { TokenHolder } from '../core/credentials/oauth-grant'
import { MAIL_FAILED } from '../core/mail/mailer'
import type { ComposedCore } from './core'
import { openMailers, passwordResets, signInEvents, signUpConfirmation } from './owner-mail'
import { openPrivateFetch } from './private-fetch'
import type { Surroundings } from './surroundings'

/** Sign-in, mail and accounts of users. */
export function composeIdentity(
  config: Config,
  { clock, log, passwordHash, outbound }: Surroundings,
  core: ComposedCore,
) {
  const { stores, signUp, accounts, strangers, writeEvent, audit } = core
  const loopbacks = ['localhost', '127.0.0.1'].map((name) => `http://${name}:${config.port}`)
  const ownOrigins = new Set([config.baseUrl, ...loopbacks])
  const mailers = openMailers(config, { clock, log })
  const { mailer, linkMailer } = mailers
  const users = usersOf(core)
  const { accountIdOf, disconnectApps } = users
  const parts = { accountIdOf, signUp, audit, clock }
  const toProviders = outbound ?? openPrivateFetch({ baseUrl: config.baseUrl, allows: config.signInAllowsPrivate })
  const identity = openIdentity({
    ...passwordResets({ ...parts, mailer: linkMailer, baseUrl: config.baseUrl, disconnectApps }),
    signInEvents: signInEvents({
      ...parts,
      mailer,
      writeEvent,
      onMailFailure: (reason) => log.error(MAIL_FAILED, { reason }),
    }),
    confirmation: signUpConfirmation({ mailer: linkMailer, config, signUp, clock }),
    db: stores.db,
    secret: config.secretKey,
    baseUrl: config.baseUrl,
    serviceName: config.brand.name,
    trustedOrigins: [...ownOrigins],
    signUpPerMinute: config.signUpRpm,
    production: config.production,
    onSignUp: async ({ id, emailConfirmed }, { address, isFromThisMachine }) => {
      const opened = await signUp.openAccount(id, { address, isFromThisMachine })
      if (!opened || (emailConfirmed && !(await signUp.confirm(id)))) throw new Error('the account could not be saved')
    },
    providers: config.signInProviders,
    openProvider: (provider) => openProviderClient(provider, toProviders),
    onSessionEnd: users.sessionEnded,
    fetchDocument: strangers,
    onFault: ({ requestId, reason }) => log.error('sign-in', { requestId, reason }),
    clock,
    passwordHash,
  })
  const search = new AccountSearch({ accounts, directory: stores.directory, finder: stores.finder })
  return {
    /** For routes and commands. */
    routes: { identity, search, notes: stores.notes, directory: stores.directory },
    users,
    ownOrigins,
    mailers,
  }
}

/** What happens to the account of a user who signs out, or whose apps lose their access. */
function usersOf({ accounts, events, appGrants, members, stores: { webhooks } }: ComposedCore) {
  return {
    /** Null for a user without an account. */
    accountIdOf: async (userId: string) => (await accounts.byUser(userId))?.id ?? null,
    /** Open pages of the user notice it immediately. */
    async sessionEnded(userId: string): Promise<void> {
      for (const { accountId } of await members.of(userId)) events.publish(accountId, { type: 'session' })
    },
    /** Disconnects all apps. No token is valid once it resolves. */
    async disconnectApps(
      userId: string,
      address: string | null,
      because: AppsEnd,
      keptKeys: readonly string[] = [],
    ): Promise<void> {
      const actor = { kind: 'owner', id: userId, address } as const
      await appGrants.disconnect(userId, 'all', actor, { because, keptKeys })
    },
    /** An app without a token receives no more events. */
    appLeft: ({ userId, clientId }: TokenHolder) => webhooks.pauseOfApp({ userId, clientId }),
  }
}
