import { createHash, randomBytes } from 'node:crypto'
import type { Harness } from '../harness'

type Owner = Awaited<ReturnType<Harness['owner']>>
export type Wire = Record<string, unknown> & { error?: string; access_token?: string; refresh_token?: string }

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly scope: string
}

export const REDIRECT = 'http://127.0.0.1:7777/callback'
const FORM = 'application/x-www-form-urlencoded'

/** An app, its owner's browser, and the OAuth server between them: every step by itself, or the whole way at once. */
export function oauthApp(gateway: Harness, owner: Owner) {
  const origin = gateway.config.baseUrl
  const call = (url: URL | string, init: RequestInit = {}) =>
    gateway.gateway.app.handle(new Request(new URL(url, origin), init))
  const json = async (answer: Response): Promise<Wire> => (await answer.json()) as Wire

  const register = async (body: Record<string, unknown> = {}) => {
    const answer = await call('/api/auth/oauth2/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'A test app',
        redirect_uris: [REDIRECT],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        ...body,
      }),
    })
    return { answer, body: await json(answer) }
  }

  const form = async (path: string, fields: Record<string, string | readonly string[]>, headers = {}) => {
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries(fields))
      for (const one of typeof value === 'string' ? [value] : value) body.append(name, one)
    const answer = await call(`/api/auth${path}`, {
      method: 'POST',
      headers: { 'content-type': FORM, ...headers },
      body: body.toString(),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: (text ? JSON.parse(text) : {}) as Wire }
  }

  /** The address that an app opens in the browser. A member of null leaves that parameter out. */
  const authorizeUrl = (more: Record<string, string | readonly string[] | null> = {}) => {
    const verifier = randomBytes(32).toString('base64url')
    const url = new URL('/api/auth/oauth2/authorize', origin)
    const parameters = {
      response_type: 'code',
      client_id: 'gateway-cli',
      redirect_uri: REDIRECT,
      scope: 'data:read offline_access',
      state: 'a-state',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: `${origin}/mcp`,
      ...more,
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== null)
        for (const one of typeof value === 'string' ? [value] : value) url.searchParams.append(name, one)
    return { url, verifier }
  }

  /** Where the browser is sent, with the owner's cookie or without. */
  const visit = async (url: URL, cookie: string | null = owner.cookie) => {
    const answer = await call(url, { headers: { accept: 'text/html', ...(cookie && { cookie }) } })
    const location = answer.headers.get('location')
    return { status: answer.status, location: location === null ? null : new URL(location, origin), answer }
  }

  const decide = async (
    consent: URL,
    accept: boolean,
    more: { headers?: Record<string, string>; cookie?: string } = {},
  ) => {
    const answer = await call('/api/auth/oauth2/consent', {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: more.cookie ?? owner.cookie, origin, ...more.headers },
      body: JSON.stringify({ accept, oauth_query: consent.search.slice(1) }),
    })
    return { status: answer.status, body: (await answer.json()) as Wire & { url?: string } }
  }

  /** The way to the code: authorize, the consent page, the owner's yes. */
  const code = async (more: Record<string, string | readonly string[] | null> = {}) => {
    const { url, verifier } = authorizeUrl(more)
    const { location } = await visit(url)
    if (location?.pathname !== '/consent') throw new Error(`no consent was asked, but ${location}`)
    const { body } = await decide(location, true)
    const back = new URL(String(body.url))
    return { back, code: back.searchParams.get('code') ?? '', verifier }
  }

  const redeem = (got: { code: string; verifier: string }, more: Record<string, string | readonly string[]> = {}) =>
    form('/oauth2/token', {
      grant_type: 'authorization_code',
      client_id: 'gateway-cli',
      code: got.code,
      code_verifier: got.verifier,
      redirect_uri: REDIRECT,
      ...more,
    })

  const refresh = (refreshToken: string, more: Record<string, string> = {}) =>
    form('/oauth2/token', {
      grant_type: 'refresh_token',
      client_id: 'gateway-cli',
      refresh_token: refreshToken,
      ...more,
    })

  return {
    origin,
    call,
    register,
    form,
    authorizeUrl,
    visit,
    decide,
    code,
    redeem,
    refresh,
    /** The whole way, of the command line's client unless told otherwise. */
    async connect(
      scope = 'data:read offline_access',
      audiences: readonly string[] = ['/mcp'],
      clientId = 'gateway-cli',
    ) {
      const resource = audiences.map((path) => origin + path)
      const got = await code({ scope, resource, client_id: clientId })
      const { status, body } = await redeem(got, { resource, client_id: clientId })
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body as unknown as Tokens
    },
  }
}
