import { and, desc, eq, inArray, lt, ne, notExists } from 'drizzle-orm'
import { DAY_MS, HOUR_MS } from '../../../core/clock'
import { AUDIENCES } from '../../../core/credentials/oauth-grant'
import {
  oauthAccessToken,
  oauthClient,
  oauthDeviceCode,
  oauthRefreshToken,
  oauthResource,
} from '../../stores/libsql/schema/oauth'
import type { IdentityDatabase } from '../identity-database'
import { ALL_SCOPES, CLI_CLIENT_ID, DEVICE_CODE_GRANT } from './oauth-options'

const UNUSED_CLIENT_MS = 30 * DAY_MS
const MAX_UNUSED_CLIENTS = 10_000

/** Writes the protected resources and the CLI's client as this version needs them. Idempotent. */
export async function prepareOAuth(db: IdentityDatabase, baseUrl: string): Promise<void> {
  const { origin } = new URL(baseUrl)
  const since = { createdAt: new Date(0), updatedAt: new Date(0) }
  // Text in JSON columns, as the library writes and reads its lists.
  const client = {
    name: 'Gateway command line',
    redirectUris: JSON.stringify(['http://127.0.0.1/callback']),
    tokenEndpointAuthMethod: 'none',
    grantTypes: JSON.stringify(['authorization_code', 'refresh_token', DEVICE_CODE_GRANT]),
    responseTypes: JSON.stringify(['code']),
    scopes: JSON.stringify(ALL_SCOPES),
    applicationType: 'native',
    requirePKCE: true,
    disabled: false,
  }
  const resources = AUDIENCES.map((path) => ({ id: origin + path, identifier: origin + path, name: path, ...since }))
  await db.batch([
    db.insert(oauthResource).values(resources).onConflictDoNothing(),
    db
      .insert(oauthClient)
      .values({ id: CLI_CLIENT_ID, clientId: CLI_CLIENT_ID, ...since, ...client })
      .onConflictDoUpdate({ target: oauthClient.clientId, set: client }),
  ])
}

/**
 * Bounds writes without an account. At most once an hour it deletes registered apps that were not authorized for 30 days
 * (and the oldest beyond 10,000 such apps) and expired tokens and device codes. Replaced refresh tokens stay until
 * they would have expired, so that a replay is still detected.
 */
export function openUpkeep(db: IdentityDatabase, now: () => number): () => Promise<void> {
  let next = 0
  return async () => {
    const at = now()
    if (at < next) return
    next = at + HOUR_MS
    const ended = new Date(at - DAY_MS)
    await db.batch([
      db.delete(oauthDeviceCode).where(lt(oauthDeviceCode.expiresAt, ended)),
      db.delete(oauthAccessToken).where(lt(oauthAccessToken.expiresAt, ended)),
      db.delete(oauthRefreshToken).where(lt(oauthRefreshToken.expiresAt, ended)),
      db.delete(oauthClient).where(and(unused(db), lt(oauthClient.createdAt, new Date(at - UNUSED_CLIENT_MS)))),
      db
        .delete(oauthClient)
        .where(
          inArray(
            oauthClient.id,
            db
              .select({ id: oauthClient.id })
              .from(oauthClient)
              .where(unused(db))
              .orderBy(desc(oauthClient.createdAt))
              .limit(1_000_000)
              .offset(MAX_UNUSED_CLIENTS),
          ),
        ),
    ])
  }
}

function unused(db: IdentityDatabase) {
  const tokens = (table: typeof oauthAccessToken | typeof oauthRefreshToken) =>
    db.select({ id: table.id }).from(table).where(eq(table.clientId, oauthClient.clientId))
  return and(
    ne(oauthClient.clientId, CLI_CLIENT_ID),
    notExists(tokens(oauthAccessToken)),
    notExists(tokens(oauthRefreshToken)),
  )
}
