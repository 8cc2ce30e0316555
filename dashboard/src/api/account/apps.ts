import { queryOptions } from '@tanstack/react-query'
import type { AppRecord, ConnectedApp as ConnectedAppRecord } from '../../../../server/http/account/app-record.ts'
import { api, callJson, unwrap } from '../client/client.ts'
import { parseFailure } from '../client/failure.ts'

/** The connected apps, and the MCP address for agents. */
export const appsQuery = queryOptions({ queryKey: ['apps'], queryFn: () => fetchApps() })

function fetchApps() {
  return unwrap(api.apps.get())
}

export type ConnectedApp = ConnectedAppRecord
export type KnownApp = AppRecord

export const appQuery = (id: string) =>
  queryOptions({ queryKey: ['apps', 'one', id], queryFn: () => unwrap(api.apps({ id }).get()), retry: false })

export const limitApp = (id: string, limit: number | null) =>
  unwrap(api.apps({ id }).limit.post({ spending_limit: limit }))

/** The part that outlives a disconnection or a new password: all apps, or keys that apps created. The other keys of ended apps are revoked. */
export interface KeptAccess {
  readonly apps: boolean
  readonly keys: readonly string[]
}
export const KEEPS_NOTHING: KeptAccess = { apps: false, keys: [] }

/** The query that says so. */
export function keptQuery({ apps, keys }: KeptAccess): string {
  const query = new URLSearchParams([...(apps ? [['apps', 'keep']] : []), ...keys.map((id) => ['keep_key', id])])
  return query.size === 0 ? '' : `?${query}`
}

/** Disconnects an app, or all of them. */
export const disconnectApps = (id: string | null, kept: KeptAccess) =>
  callJson(`/api/apps/${id === null ? '' : `${encodeURIComponent(id)}/`}disconnect${keptQuery(kept)}`, { body: {} })

/** Sends the owner's decision about an app. Resolves to the URL that the browser must open next, which leads back to the app. */
export async function submitConsent(oauthQuery: string, accept: boolean): Promise<string> {
  return redirectUrl(await callJson('/api/auth/oauth2/consent', { body: { accept, oauth_query: oauthQuery } }))
}

export interface DeviceRequest {
  readonly clientId: string | null
  readonly scopes: readonly string[]
  readonly isOpen: boolean
}

/** The app that requests access with this device code. Looking it up binds the code to the signed-in user. */
export async function fetchDeviceRequest(code: string): Promise<DeviceRequest> {
  const body = await callJson(`/api/auth/device?user_code=${encodeURIComponent(code)}`)
  const read = (name: string): unknown => Reflect.get(Object(body), name)
  const clientId = read('client_id')
  return {
    clientId: typeof clientId === 'string' ? clientId : null,
    scopes: String(read('scope') ?? '')
      .split(' ')
      .filter(Boolean),
    isOpen: read('status') === 'pending',
  }
}

export async function submitDeviceDecision(code: string, accept: boolean): Promise<void> {
  await callJson(`/api/auth/device/${accept ? 'approve' : 'deny'}`, { body: { userCode: code } })
}

/** The URL that the server sends the browser to. */
function redirectUrl(body: unknown): string {
  const url: unknown = Reflect.get(Object(body), 'url')
  if (typeof url !== 'string') throw parseFailure(200, body)
  return url
}
