import { jsonText } from '../../../core/json'
import { err, ok, type Result } from '../../../core/result'

/** The registration fields that are stored (RFC 7591 2). All others are ignored, as the RFC allows. */
const STORED_MEMBERS = [
  'client_name',
  'redirect_uris',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
  'application_type',
  'scope',
  'software_id',
  'software_version',
] as const

const MAX_NAME_CHARACTERS = 80
const MAX_REDIRECTS = 10
const MAX_URI_CHARACTERS = 500
/** `private_key_jwt` is not offered: it would make this server fetch keys from URLs that the app chooses. */
const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post']

/** The limits of an app after registration, whatever the library would allow. */
export interface Registration {
  readonly redirectUris: readonly string[]
  /** Null when the app named no scope: it may then request any. */
  readonly scopes: readonly string[] | null
}

export interface ValidRegistration extends Registration {
  /** The request as the library sees it. It rejects private-use URIs, so a loopback URI takes their place. */
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Validates and trims an app's registration before the library sees it. Logos, policies, key sets and logout URLs are
 * dropped, so that no page shows, and no server fetches, what a stranger wrote. The error is a readable reason.
 */
export function validateRegistration(body: unknown): Result<ValidRegistration, string> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return err('the body must be a JSON object')
  const properties: Record<string, unknown> = {}
  for (const member of STORED_MEMBERS) if (Object.hasOwn(body, member)) properties[member] = Reflect.get(body, member)
  const { client_name: name, redirect_uris: uris, token_endpoint_auth_method: method, scope } = properties
  if (!Array.isArray(uris) || uris.length < 1 || uris.length > MAX_REDIRECTS)
    return err(`redirect_uris must contain 1 to ${MAX_REDIRECTS} URIs`)
  if (!uris.every((uri) => typeof uri === 'string' && uri.length <= MAX_URI_CHARACTERS))
    return err(`a redirect URI can have at most ${MAX_URI_CHARACTERS} characters`)
  if (method !== undefined && !AUTH_METHODS.includes(jsonText(method)))
    return err(`token_endpoint_auth_method must be one of ${AUTH_METHODS.join(', ')}`)
  const redirectUris: readonly string[] = uris
  if (redirectUris.some(hasWildcard)) return err('redirect URIs are matched exactly and cannot contain *')
  const privateUse = redirectUris.filter(isPrivateUse)
  if (properties['application_type'] === 'web' && privateUse.length > 0)
    return err('private-use URI schemes require application_type "native"')
  if (name !== undefined) properties['client_name'] = plainName(name)
  // The library reads a missing application_type as "web" and then refuses every loopback address (RFC 8252).
  const isNative = privateUse.length > 0 || redirectUris.some(isLoopback)
  if (properties['application_type'] === undefined && isNative) properties['application_type'] = 'native'
  properties['redirect_uris'] = redirectUris.map((uri) => (isPrivateUse(uri) ? STAND_IN : uri))
  const scopes = typeof scope === 'string' && scope !== '' ? [...new Set(scope.split(' '))] : null
  return ok({ body: properties, redirectUris, scopes })
}

/** Never stored. */
const STAND_IN = 'http://127.0.0.1/private-use'

/** A scheme is a reversed domain (RFC 8252 7.1) or, as editors use it, the name of a program: `cursor://…`, `vscode://…`. */
const SCHEME = /^[a-z][a-z0-9-]*(?:[.+][a-z0-9-]+)*:$/

/** Schemes that a browser handles itself or hands to a part of the system that is not an app waiting for a code. */
const NO_APP =
  /^(?:https?|wss?|s?ftps?|file|javascript|vbscript|livescript|data|blob|about|filesystem|view-source|chrome|chrome-extension|moz-extension|edge|resource|res|jar|mailto|tel|sms|sip|intent|android-app|market|itms.*|ms-.*|search|search-ms|shell|ldaps?|smb|nfs|ssh|telnet|gopher|git|svn|urn|x-apple.*|help|hcp|mk|its|cid|mid|news|nntp|irc|magnet|geo|facetime.*|bitcoin|ethereum|steam):$/

/** A URI by which the operating system opens an app on the user's own machine. */
function isPrivateUse(uri: string): boolean {
  const url = /^[\x21-\x7e]+$/.test(uri) ? URL.parse(uri) : null
  if (!url || !SCHEME.test(url.protocol) || NO_APP.test(url.protocol)) return false
  if (uri.includes('#') || url.username !== '' || url.password !== '') return false
  // Without a host only the scheme identifies the app, so it must be a domain (RFC 8252 7.1): `com.example.app:/callback`.
  return uri.slice(url.protocol.length).startsWith('//')
    ? url.hostname !== ''
    : url.protocol.includes('.') && url.pathname.startsWith('/')
}

function hasWildcard(uri: string): boolean {
  return uri.includes('*') || (URL.parse(uri)?.host ?? '').includes('*')
}

/** Single-line text: no control characters and none that change the writing direction. */
export function plainName(name: unknown): string {
  const text = jsonText(name).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return [...text.trim()].slice(0, MAX_NAME_CHARACTERS).join('')
}

/** How an app receives its code: at a page of the web, or on the user's own machine. Null: by neither, so it may not. */
export function appUriKind(uri: string): 'web' | 'native' | null {
  if (isPrivateUse(uri)) return 'native'
  const url = /^[\x21-\x7e]+$/.test(uri) ? URL.parse(uri) : null
  if (!url || uri.includes('#') || url.username !== '' || url.password !== '') return null
  if (isLoopback(uri)) return 'native'
  return url.protocol === 'https:' && url.hostname !== '' ? 'web' : null
}

function isLoopback(uri: string): boolean {
  const url = URL.parse(uri)
  return url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}
