import { randomUUID } from 'node:crypto'
import type { ClientDiscovery } from '@better-auth/oauth-provider'
import type { GenericEndpointContext } from 'better-auth'
import { APIError } from 'better-auth/api'
import { eq } from 'drizzle-orm'
import { MINUTE_MS } from '../../../core/clock'
import { limitSubject, parseAddress } from '../../../core/credentials/address'
import { isJson, parsedJson } from '../../../core/json'
import type { OutboundFetch, OutboundProblemKind } from '../../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../../core/result'
import { oauthClient } from '../../stores/libsql/schema/oauth'
import type { IdentityDatabase } from '../identity-database'
import type { AttemptWindows } from '../sign-in/attempt-windows'
import { ALL_SCOPES } from './oauth-options'
import { appUriKind, plainName, validateRegistration } from './oauth-registration'

const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * 1024
const MAX_ID_CHARACTERS = 500
const FRESH_MS = 5 * MINUTE_MS
/** A document that could not be used is fetched again sooner, since its author may be mending it. */
const FAILED_FRESH_MS = 30_000
const MAX_REMEMBERED = 1000
const MAX_IN_PROGRESS = 50
/** How many documents one address can make the gateway fetch. */
const FETCHES = { window: 60, max: 10 }
/** The steps at which a person is asked. All others go by what was stored then, and fetch nothing. */
const ASKING_PATHS: ReadonlySet<string> = new Set(['/oauth2/authorize', '/oauth2/consent'])

/** An app's description of itself in its document. */
export interface ClientDocument {
  readonly name: string | null
  readonly redirectUris: readonly string[]
  /** Null when it names no scope of this gateway: it may then request any. */
  readonly scopes: readonly string[] | null
}

export interface ClientDocumentParts {
  readonly db: IdentityDatabase
  readonly fetch: OutboundFetch
  readonly windows: AttemptWindows
  readonly now: () => number
  /** The IP address of the caller. */
  readonly address: () => string | null
  readonly upkeep: () => Promise<void>
  /** Shows the person the reason. */
  readonly errorUrl: string
}

interface Remembered {
  readonly found: Promise<Result<ClientDocument, string>>
  until: number
}

/** Whether an app's id is the address of its metadata document: https, with a path, in the one spelling that URLs have. */
export function isDocumentId(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > MAX_ID_CHARACTERS || clientId.includes('#')) return false
  const url = URL.parse(clientId)
  return url !== null && url.href === clientId && url.pathname !== '/' && url.username === '' && url.password === ''
}

/** Reads a metadata document that was found at `clientId`. The error is a readable reason. */
export function readClientDocument(clientId: string, text: string): Result<ClientDocument, string> {
  const document = parsedJson(text)
  if (!isJson(document)) return err('it is not a JSON object')
  const member = (name: string) => (Object.hasOwn(document, name) ? document[name] : undefined)
  if (member('client_id') !== clientId) return err('its client_id is not its own URL')
  if (member('client_secret') !== undefined) return err('it has a client_secret, which everybody can read')
  if ((member('token_endpoint_auth_method') ?? 'none') !== 'none')
    return err('its token_endpoint_auth_method must be none')
  const registration = validateRegistration({ ...document, token_endpoint_auth_method: 'none' })
  if (!registration.ok) return err(registration.error)
  const { redirectUris, scopes } = registration.value
  if (redirectUris.some((uri) => appUriKind(uri) === null))
    return err('a redirect URI must be https, a loopback address or an app of the system')
  const served = (scopes ?? []).filter((scope) => ALL_SCOPES.includes(scope))
  const name = plainName(typeof member('client_name') === 'string' ? member('client_name') : '')
  return ok({ name: name || null, redirectUris, scopes: served.length > 0 ? served : null })
}

/**
 * Apps whose `client_id` is the URL of a document about them (MCP 2026-07-28, OAuth Client ID Metadata Documents). Anybody can make
 * the gateway fetch one, so the way out is guarded, the fetches of an address are limited, and what was found is kept for minutes.
 */
export function clientDocuments(parts: ClientDocumentParts): ClientDiscovery {
  const documents = new RememberedDocuments(parts)
  return {
    id: 'metadata-document',
    discoveryMetadata: { client_id_metadata_document_supported: true },
    matches: isDocumentId,
    async resolve(ctx, clientId, existing) {
      if (!ASKING_PATHS.has(ctx.path)) return existing
      const found = await documents.find(clientId)
      if (!found.ok)
        throw refusal(ctx, parts.errorUrl, `${new URL(clientId).host} did not identify the app: ${found.error}.`)
      await parts.upkeep()
      await store(parts, clientId, found.value)
      return ctx.context.adapter.findOne({ model: 'oauthClient', where: [{ field: 'clientId', value: clientId }] })
    },
  }
}

class RememberedDocuments {
  private readonly parts: ClientDocumentParts
  private readonly remembered = new Map<string, Remembered>()
  private inProgress = 0

  constructor(parts: ClientDocumentParts) {
    this.parts = parts
  }

  async find(clientId: string): Promise<Result<ClientDocument, string>> {
    const { windows, now, address } = this.parts
    const known = this.remembered.get(clientId)
    if (known && now() < known.until) return known.found
    const from = address()
    const parsed = from === null ? null : parseAddress(from)
    const subject = parsed ? limitSubject(parsed) : 'unknown'
    if (this.inProgress >= MAX_IN_PROGRESS || !windows.take(`client-document ${subject}`, FETCHES).allowed)
      return err('too many documents of apps are being looked up, so try again in a minute')
    const entry: Remembered = { found: this.fetched(clientId), until: now() + FRESH_MS }
    this.remembered.delete(clientId)
    this.remembered.set(clientId, entry)
    for (const oldest of this.remembered.keys()) {
      if (this.remembered.size <= MAX_REMEMBERED) break
      this.remembered.delete(oldest)
    }
    const found = await entry.found
    if (!found.ok) entry.until = now() + FAILED_FRESH_MS
    return found
  }

  private async fetched(clientId: string): Promise<Result<ClientDocument, string>> {
    this.inProgress++
    try {
      const answer = await this.parts.fetch({
        url: clientId,
        headers: { accept: 'application/json' },
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      })
      if (!answer.ok) return err(PROBLEMS[answer.error.kind] ?? 'its document could not be fetched')
      const { status, contentType, body } = answer.value
      if (status !== 200) return err(`its document was answered with ${status} instead of 200`)
      if (!/^application\/(?:[\w.-]+\+)?json$/.test(contentType)) return err('its document is not application/json')
      return readClientDocument(clientId, new TextDecoder().decode(body))
    } finally {
      this.inProgress--
    }
  }
}

/** Private addresses look like addresses that do not answer, so that this cannot map a network. */
const PROBLEMS: { readonly [kind in OutboundProblemKind]?: string } = {
  timeout: `its document took longer than ${TIMEOUT_MS / 1000} seconds`,
  too_large: `its document is larger than ${MAX_BYTES / 1024} KiB`,
}

/** A row that the library can go by. An app that registered itself, or was disabled, is left as it is. */
async function store({ db, now }: ClientDocumentParts, clientId: string, document: ClientDocument): Promise<void> {
  const at = new Date(now())
  const { name, redirectUris, scopes } = document
  const described = {
    name,
    // Text in JSON columns, as the library writes and reads its lists.
    redirectUris: JSON.stringify(redirectUris),
    scopes: JSON.stringify(scopes ?? ALL_SCOPES),
    applicationType: redirectUris.every((uri) => appUriKind(uri) === 'web') ? 'web' : 'native',
    updatedAt: at,
  }
  await db
    .insert(oauthClient)
    .values({
      id: randomUUID(),
      clientId,
      clientDiscoveryId: 'metadata-document',
      createdAt: at,
      ...described,
      tokenEndpointAuthMethod: 'none',
      grantTypes: JSON.stringify(['authorization_code', 'refresh_token']),
      responseTypes: JSON.stringify(['code']),
      requirePKCE: true,
      disabled: false,
    })
    .onConflictDoUpdate({
      target: oauthClient.clientId,
      set: described,
      setWhere: eq(oauthClient.clientDiscoveryId, 'metadata-document'),
    })
}

/** A browser is sent to the page that shows the reason; a script gets it as an error. */
function refusal(ctx: GenericEndpointContext, errorUrl: string, reason: string): Error {
  if (ctx.path !== '/oauth2/authorize')
    return new APIError('BAD_REQUEST', { error: 'invalid_client', error_description: reason })
  const url = new URL(errorUrl)
  url.searchParams.set('error', 'invalid_client')
  url.searchParams.set('error_description', reason)
  return ctx.redirect(url.href)
}
