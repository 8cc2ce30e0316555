import { randomBytes } from 'node:crypto'
import { boundedBytes } from '../../../core/bounded-bytes'
import type { Transport } from '../x/wire'
import { SandboxApi } from './api'
import { consentPage, decided, isApp, oauthError, type SandboxApp, tokenEndpoint } from './authorize'
import { Community } from './community'
import { Faults, isFault } from './faults'
import { Grants } from './grants'
import { html, htmlPage } from './html'
import { peoplePage, personPage, timelinePage } from './pages'
import { Tables } from './tables'

export interface SandboxOptions {
  /** Of its own libSQL file. */
  readonly path: string
  readonly now: () => number
  /** Of its one app, the gateway. */
  readonly redirectUri: string
}

/** The path prefix under which the sandbox is mounted. */
export const SANDBOX_PREFIX = '/sandbox/social'

const MAX_BODY_BYTES = 64 * 1024

/**
 * A small social network inside the gateway: an OAuth 2.0 authorization server with a consent page, the X API v2 as far as
 * the gateway uses it, and pages to see what happened. Its users are fictional. It can simulate failures.
 */
export class SandboxNetwork {
  readonly community: Community
  readonly grants: Grants
  readonly faults: Faults
  /** The network and its only app start together, so a new secret per start is enough. */
  readonly app: SandboxApp
  private readonly tables: Tables
  private readonly api: SandboxApi

  constructor({ path, now, redirectUri }: SandboxOptions) {
    this.tables = new Tables(path, now)
    this.community = new Community(this.tables, now)
    this.grants = new Grants(this.tables, now)
    this.faults = new Faults(this.tables)
    this.api = new SandboxApi({ ...this, now })
    this.app = { clientId: 'gateway', clientSecret: randomBytes(32).toString('base64url'), redirectUri }
  }

  /** How the gateway's adapter reaches it: the same requests and responses as over HTTP, in process. */
  readonly transport: Transport = (url, init) => {
    const given = Promise.withResolvers<Response>()
    init.signal.addEventListener('abort', () => given.reject(init.signal.reason), { once: true })
    return Promise.race([this.answer(new Request(url, init)), given.promise])
  }

  /** Answers one request to a path under the prefix. */
  async answer(incoming: Request): Promise<Response> {
    const { pathname, searchParams: query } = new URL(incoming.url)
    const path = pathname.slice(SANDBOX_PREFIX.length) || '/'
    const request = await withBoundedBody(incoming)
    if (!request) return oauthError(413, 'invalid_request', 'The body is too large.')
    if (path === '/2/oauth2/token' || path === '/2/oauth2/revoke') return this.asApp(request, path)
    if (path.startsWith('/2/')) return this.api.answer(request, path, query)
    if (request.method === 'POST') return fromOurPage(request) ? this.post(request, path) : foreign()
    if (request.method !== 'GET') return notHere()
    return this.shown(path, query)
  }

  close(): Promise<void> {
    return this.tables.close()
  }

  private async asApp(request: Request, path: string): Promise<Response> {
    if (request.method !== 'POST')
      return oauthError(405, 'invalid_request', 'This endpoint accepts only POST requests.')
    if (!isApp(request, this.app)) return oauthError(401, 'unauthorized_client', 'Missing valid authorization header')
    const form = new URLSearchParams(await request.text())
    if (path === '/2/oauth2/token') return tokenEndpoint(form, this.grants)
    await this.grants.revoke(form.get('token') ?? '')
    return Response.json({ revoked: true })
  }

  private async shown(path: string, query: URLSearchParams): Promise<Response> {
    if (path === '/') return timelinePage(this.community)
    if (path === '/people') return peoplePage(this.community)
    if (path === '/authorize') return consentPage(query, this.app, this.community)
    const person = await this.person(path)
    return person ? personPage(person, this) : notHere()
  }

  private async post(request: Request, path: string): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    if (path === '/authorize') return decided(form, this.app, this.community, this.grants)
    const person = await this.person(path)
    if (!person) return notHere()
    const fault = form.get('fault') ?? ''
    if (form.get('do') === 'withdraw') await this.grants.withdraw(person.id, Number(form.get('grant')))
    if (form.get('do') === 'expire') await this.grants.expireAccess(person.id)
    if (form.get('do') === 'fault' && isFault(fault)) {
      const times = Math.min(10, Math.max(0, Math.trunc(Number(form.get('times')) || 0)))
      await this.faults.set(person.id, fault, times)
    }
    return new Response(null, { status: 303, headers: { location: SANDBOX_PREFIX + path } })
  }

  private person(path: string) {
    const name = /^\/people\/(\w{1,15})$/.exec(path)?.[1]
    return name === undefined ? Promise.resolve(null) : this.community.personByUsername(name)
  }
}

/** The request with its body read; null when the body is too large, whatever Content-Length says. */
async function withBoundedBody(request: Request): Promise<Request | null> {
  if (!request.body) return request
  const body = await boundedBytes(request.body, MAX_BODY_BYTES)
  return body && new Request(request.url, { method: request.method, headers: request.headers, body })
}

/** Browsers send the origin of a form. A request without it comes from a script; no other site can make a browser omit it. */
function fromOurPage({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null) return site === 'same-origin' || site === 'none'
  return origin === null || URL.parse(origin)?.host === new URL(url).host
}

function foreign(): Response {
  return htmlPage('Not from here', html`<h1>Not from here</h1><p>This form was sent from another site.</p>`, {
    status: 403,
  })
}

function notHere(): Response {
  return htmlPage('Not found', html`<h1>Not found</h1><p><a href="${SANDBOX_PREFIX}">To the timeline</a></p>`, {
    status: 404,
  })
}
