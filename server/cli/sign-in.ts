import * as oauth from 'openid-client'
import { CommandRefused } from './control-client'
import { PROGRAM } from './program'
import type { Session } from './session-store'
import type { Terminal } from './terminal'

const CLIENT_ID = 'gateway-cli'
export const CLI_SCOPES =
  'data:read usage:read models:use keys:write webhooks:write social:write wallet:topup offline_access'
const MAX_WAIT_MS = 5 * 60_000

/** The resources of a sign-in: the REST APIs. Not the MCP server, where agents sign in themselves. */
function resources(url: string): string[] {
  return [`${url}/v1`, `${url}/apis/v1`]
}

/** Discovers the OAuth server of a gateway (RFC 8414). */
async function discovered(url: string, terminal: Terminal): Promise<oauth.Configuration> {
  const insecure = url.startsWith('http://') ? [oauth.allowInsecureRequests] : []
  const config = await oauth
    .discovery(new URL(`${url}/api/auth`), CLIENT_ID, undefined, oauth.None(), {
      algorithm: 'oauth2',
      execute: insecure,
      [oauth.customFetch]: (address, init) => terminal.fetch(new Request(address, init as RequestInit)),
    })
    .catch((error: unknown) => {
      throw new CommandRefused(`${url} does not respond like a gateway: ${reason(error)}`)
    })
  return config
}

/** Signs in through a browser on this machine, which returns to a loopback port (RFC 8252). */
export async function signInByBrowser(url: string, scope: string, terminal: Terminal): Promise<Session> {
  const config = await discovered(url, terminal)
  const verifier = oauth.randomPKCECodeVerifier()
  const state = oauth.randomState()
  const callback = Promise.withResolvers<URL>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const returned = new URL(request.url)
      if (returned.pathname !== '/callback' || returned.searchParams.get('state') !== state)
        return new Response('Not found', { status: 404 })
      callback.resolve(returned)
      const outcome = returned.searchParams.has('error') ? 'Not signed in.' : 'Signed in.'
      return new Response(`${outcome} You can close this tab.`, {
        headers: { 'content-type': 'text/plain', 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' },
      })
    },
  })
  try {
    const parameters = new URLSearchParams({
      redirect_uri: `http://127.0.0.1:${server.port}/callback`,
      scope,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    for (const resource of resources(url)) parameters.append('resource', resource)
    const address = oauth.buildAuthorizationUrl(config, parameters).href
    const isOpen = await terminal.openBrowser(address)
    terminal.err(isOpen ? 'Waiting for the browser ...\n' : `Open this URL in a browser on this machine:\n${address}\n`)
    const returned = await within(callback.promise, MAX_WAIT_MS)
    const tokens = await oauth.authorizationCodeGrant(config, returned, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    return session(url, tokens, terminal)
  } catch (error) {
    throw new CommandRefused(`not signed in: ${reason(error)}`)
  } finally {
    void server.stop(true)
  }
}

/** Signs in through a browser on any machine (RFC 8628). */
export async function signInByDevice(url: string, scope: string, terminal: Terminal): Promise<Session> {
  const config = await discovered(url, terminal)
  try {
    const parameters = new URLSearchParams({ scope })
    for (const resource of resources(url)) parameters.append('resource', resource)
    const device = await oauth.initiateDeviceAuthorization(config, parameters)
    terminal.err(
      `Open ${device.verification_uri} in any browser and enter the code ${device.user_code}\n` +
        (device.verification_uri_complete ? `(or open ${device.verification_uri_complete})\n` : '') +
        'Waiting ...\n',
    )
    return session(url, await oauth.pollDeviceAuthorizationGrant(config, device), terminal)
  } catch (error) {
    throw new CommandRefused(`not signed in: ${reason(error)}`)
  }
}

export async function refreshed(old: Session, terminal: Terminal): Promise<Session> {
  const config = await discovered(old.url, terminal)
  const tokens = await oauth.refreshTokenGrant(config, old.refreshToken).catch((error: unknown) => {
    throw new CommandRefused(`the sign-in has ended (${reason(error)}). Run "${PROGRAM} login"`)
  })
  return session(old.url, tokens, terminal)
}

/** Revokes the tokens at the gateway. Best effort: returns false when the gateway cannot be reached. */
export async function revokeTokens({ url, refreshToken, accessToken }: Session, terminal: Terminal): Promise<boolean> {
  try {
    const config = await discovered(url, terminal)
    await oauth.tokenRevocation(config, accessToken)
    await oauth.tokenRevocation(config, refreshToken)
    return true
  } catch {
    return false
  }
}

function session(
  url: string,
  tokens: oauth.TokenEndpointResponse & { expiresIn?: () => number | undefined },
  terminal: Terminal,
): Session {
  if (!tokens.refresh_token)
    throw new CommandRefused('the gateway issued no refresh token. Sign in again with the scope offline_access')
  return {
    url,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    expiresAt: terminal.now() + (tokens.expires_in ?? 3600) * 1000,
    scope: tokens.scope ?? '',
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the browser did not return within 5 minutes')), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The error's OAuth description, if it has one. Never contains a token. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const description: unknown = Reflect.get(error, 'error_description') ?? Reflect.get(error, 'error')
  return typeof description === 'string' ? description : error.message
}
