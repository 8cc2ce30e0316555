import type { Static } from '@sinclair/typebox'
import type { AppGrantStore } from '../../core/accounts/app-grant'
import { type GrantedApp, type OAuthApp, SCOPES } from '../../core/credentials/oauth-grant'
import type { AccountId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { toUsdNumber } from '../../core/money'
import { form, instant, listOf, microsUsd, oneOf, orNull, record, text, usd, yesOrNo } from '../openapi/json-schema'

const SpendingLimit = orNull(usd('US dollars in all; null is no limit of its own.'), 'no limit')

export const AppLimit = form('The most an app may spend.', { spending_limit: SpendingLimit })
export type AppLimit = Static<typeof AppLimit>

const APP = {
  client_id: text('Id of the app.'),
  name: text('What the app calls itself.'),
  first_party: yesOrNo("Whether it is the gateway's own. Nobody has checked what any other app says about itself."),
  redirect_hosts: listOf(text('A scheme and host.'), 'Where the app may receive its tokens.'),
  registered_at: orNull(instant("Registered at; null for the gateway's own.")),
  connection_id: orNull(text('Id of its connection to the account; null before its first call.')),
  connected_at: orNull(instant('Connected at.')),
  last_used_at: orNull(instant('Last used at.')),
  last_ip: orNull(text('The address of its last call.')),
  spent_micros_usd: microsUsd('Spent so far.', { minimum: 0 }),
  spending_limit: SpendingLimit,
}

export const AppRecord = record('An app as an owner sees it.', APP)
export type AppRecord = Static<typeof AppRecord>

export const OneApp = record('An app.', { app: AppRecord })
export type OneApp = Static<typeof OneApp>

export const ConnectedApp = record('An app that holds live access.', {
  ...APP,
  scopes: listOf(oneOf(SCOPES, 'A scope.'), 'What the owner granted it.'),
})
export type ConnectedApp = Static<typeof ConnectedApp>

export const ConnectedApps = record('Every app that holds live access.', {
  apps: listOf(ConnectedApp, 'The apps, by name.'),
  mcp_url: text('The address to give to agents.'),
})
export type ConnectedApps = Static<typeof ConnectedApps>

export const Disconnected = record('The outcome.', { disconnected: yesOrNo('Always true.') })
export type Disconnected = Static<typeof Disconnected>

interface Spending {
  readonly apps: AppGrantStore
  readonly ledger: Ledger
}

/** The record of an app, with what it has spent. */
export async function appRecord(app: OAuthApp, account: AccountId, { apps, ledger }: Spending): Promise<AppRecord> {
  const grant = await apps.live(account, app.clientId)
  const [pool, use] = grant ? await Promise.all([ledger.pool(grant.poolId), apps.lastUse(grant.id)]) : [null, null]
  return {
    client_id: app.clientId,
    name: app.name,
    first_party: app.firstParty,
    redirect_hosts: app.redirectHosts,
    registered_at: app.registeredAt === null || app.firstParty ? null : new Date(app.registeredAt).toISOString(),
    connection_id: grant?.id ?? null,
    connected_at: grant ? new Date(grant.createdAt).toISOString() : null,
    last_used_at: use ? new Date(use.at).toISOString() : null,
    last_ip: use?.address ?? null,
    spent_micros_usd: pool?.spent ?? 0,
    spending_limit: !pool || pool.limit === null ? null : toUsdNumber(pool.limit),
  }
}

/** The same of an app that was let in, with its scopes. */
export async function connectedApp(app: GrantedApp, account: AccountId, spending: Spending): Promise<ConnectedApp> {
  return { ...(await appRecord(app, account, spending)), scopes: [...app.scopes] }
}
