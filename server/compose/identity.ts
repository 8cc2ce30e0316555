import { openIdentity } from '../adapters/identity/identity'
import type { Config } from '../config'
import { AccountSearch } from '../core/accounts/staff/account-search'
import { MAIL_FAILED } from '../core/mail/mailer'
import { brakeShareOf } from './cluster/cells/cell-membership'
import { UsersOfCells } from './cluster/cells/other-cells'
import type { ComposedCore } from './core'
import { openMailers, passwordResets, signInEvents, signUpConfirmation } from './owner-mail'
import type { Surroundings } from './surroundings'
import { eventWriter } from './webhooks'

/** Sign-in, mail and accounts of users. */
export function composeIdentity(
  config: Config,
  { clock, log, passwordHash, cell: membership }: Surroundings,
  { stores, signUp, accounts, appGrants, grants, events, strangers }: ComposedCore,
) {
  const loopbacks = ['localhost', '127.0.0.1'].map((name) => `http://${name}:${config.port}`)
  const ownOrigins = new Set([config.baseUrl, ...loopbacks])
  const mailers = openMailers(config, { clock, log, brakeShareOf: brakeShareOf(membership) })
  const { mailer, linkMailer } = mailers
  const { directory } = stores
  const users = new UsersOfCells({
    membership,
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
