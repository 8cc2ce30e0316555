import type { Static } from '@sinclair/typebox'
import type { AppGrantStore } from '../../core/accounts/app-grant'
import { isoTime } from '../../core/clock'
import type { ApiKey } from '../../core/credentials/api-key'
import { type GrantedApp, type OAuthApp, SCOPES } from '../../core/credentials/oauth-grant'
import type { AccountId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { toUsdNumber } from '../../core/money'
import { form, instant, listOf, microsUsd, oneOf, orNull, record, text, usd, yesOrNo } from '../openapi/json-schema'

const SpendingLimit = orNull(usd('Total US dollars; null means no limit.'), 'no limit')

export const AppLimit = form('The spending limit of an app.', { spending_limit: SpendingLimit })
export type AppLimit = Static<typeof AppLimit>

const APP = {
  client_id: text('Id of the app.'),
  name: text('The name that the app registered with.'),
  first_party: yesOrNo("Whether it is the gateway's own app. What other apps say about themselves is not verified."),
  redirect_hosts: listOf(text('A scheme and host.'), 'Where the app can receive its tokens.'),
  document_host: orNull(
    text('The host that publishes what the app says about itself: its `client_id` is a URL there.'),
    'an app that registered',
  ),
  registered_at: orNull(instant("When it registered; null for the gateway's own app.")),
  connection_id: orNull(text('Id of its connection to the account; null until its first call.')),
  connected_at: orNull(instant('When it was connected.')),
  last_used_at: orNull(instant('When it last made a call.')),
  last_ip: orNull(text('The IP address of its last call.')),
  spent_micros_usd: microsUsd('Spent so far.', { minimum: 0 }),
  spending_limit: SpendingLimit,
}

export const AppRecord = record('An app.', APP)
export type AppRecord = Static<typeof AppRecord>

export const OneApp = record('An app.', { app: AppRecord })
export type OneApp = Static<typeof OneApp>

export const ConnectedApp = record('A connected app.', {
  ...APP,
  scopes: listOf(oneOf(SCOPES, 'A scope.'), 'The scopes that the owner granted.'),
  keys: listOf(
    record('A key.', { id: text('Its id.'), name: text('Its name.') }),
    'The keys that it created and that are not revoked. What they spend counts under its limit.',
  ),
})
export type ConnectedApp = Static<typeof ConnectedApp>

export const ConnectedApps = record('All connected apps.', {
  apps: listOf(ConnectedApp, 'The apps, by name.'),
  mcp_url: text('The URL of the MCP server, for agents.'),
})
export type ConnectedApps = Static<typeof ConnectedApps>

export const Disconnected = record('The result.', { disconnected: yesOrNo('Always true.') })
export type Disconnected = Static<typeof Disconnected>

/** The member of a workspace whose apps are meant. */
interface Granting {
  readonly accountId: AccountId
  readonly userId: string
}

interface Spending {
  readonly apps: AppGrantStore
  readonly ledger: Ledger
}

/** The record of an app, with what it has spent. */
export async function appRecord(
  app: OAuthApp,
  { accountId, userId }: Granting,
  { apps, ledger }: Spending,
): Promise<AppRecord> {
  const live = await apps.live(userId, app.clientId)
  const grant = live?.accountId === accountId ? live : null
  const [pool, use] = grant ? await Promise.all([ledger.pool(grant.poolId), apps.lastUse(grant.id)]) : [null, null]
  return {
    client_id: app.clientId,
    name: app.name,
    first_party: app.firstParty,
    redirect_hosts: app.redirectHosts,
    document_host: app.documentHost,
    registered_at: app.registeredAt === null || app.firstParty ? null : isoTime(app.registeredAt),
    connection_id: grant?.id ?? null,
    connected_at: grant ? isoTime(grant.createdAt) : null,
    last_used_at: use ? isoTime(use.at) : null,
    last_ip: use?.address ?? null,
    spent_micros_usd: pool?.spent ?? 0,
    spending_limit: !pool || pool.limit === null ? null : toUsdNumber(pool.limit),
  }
}

/** The record of a connected app, with its scopes and those of `keys` that it created. */
export async function connectedApp(
  app: GrantedApp,
  granting: Granting,
  keys: readonly ApiKey[],
  spending: Spending,
): Promise<ConnectedApp> {
  const shown = await appRecord(app, granting, spending)
  const own = keys.filter(({ createdBy }) => createdBy === shown.connection_id)
  return { ...shown, scopes: [...app.scopes], keys: own.map(({ id, name }) => ({ id, name })) }
}

/**
 * Whether apps stay connected when an owner changes the password or signs out everywhere. Only with `?apps=keep`, because an
 * intruder may have connected one.
 */
export function keepsApps(url: URL): boolean {
  return url.searchParams.get('apps') === 'keep'
}

/** Keys of disconnected apps that the owner keeps, each as `keep_key=ID`. The others are revoked. */
export function keptKeys(url: URL): readonly string[] {
  return url.searchParams.getAll('keep_key')
}
