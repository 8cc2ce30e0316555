import type { Community } from './community'
import type { Grants } from './grants'
import { type Html, html, htmlPage } from './html'

/** The one app of the sandbox network: this gateway. */
export interface SandboxApp {
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
}

const MEANINGS: Readonly<Record<string, string>> = {
  'follows.write': 'Follow and unfollow people for you',
  'tweet.read': 'Read posts that you can see',
  'users.read': 'Read profiles that you can see',
  'tweet.write': 'Post, reply, quote and delete for you',
  'like.write': 'Like and unlike posts for you',
  'dm.read': 'Read your messages',
  'dm.write': 'Send messages for you',
  'offline.access': 'Keep this access until you withdraw it',
}

interface AuthorizationRequest {
  readonly scopes: readonly string[]
  readonly state: string
  readonly challenge: string
}

/** The problem of an authorization request, as a message. Never redirects, because the URI is not trusted (RFC 6749 4.1.2.1). */
function readRequest(query: URLSearchParams, app: SandboxApp): AuthorizationRequest | string {
  const scopes = (query.get('scope') ?? '').split(' ').filter(Boolean)
  const unknown = scopes.find((scope) => !Object.hasOwn(MEANINGS, scope))
  const challenge = query.get('code_challenge') ?? ''
  const state = query.get('state') ?? ''
  if (query.get('client_id') !== app.clientId) return 'This app is not registered.'
  if (query.get('redirect_uri') !== app.redirectUri) return 'The redirect URI is not registered for this app.'
  if (query.get('response_type') !== 'code') return 'The app requested an unsupported response type.'
  if (query.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge))
    return 'The app sent no PKCE code challenge.'
  if (state === '' || state.length > 500) return 'The app sent no state.'
  if (scopes.length === 0 || unknown !== undefined) return 'The app requested no permissions, or an unknown one.'
  return { scopes, state, challenge }
}

/** The consent page. Every visitor can approve as any of the test users: that is its purpose. */
export async function consentPage(query: URLSearchParams, app: SandboxApp, community: Community): Promise<Response> {
  const request = readRequest(query, app)
  if (typeof request === 'string') return refusal(request)
  const people = await community.people()
  const hiddenFields = [...query].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
  return htmlPage(
    'Allow access',
    html`<h1>Allow this gateway to use your account?</h1>
<p class="notice">This is the sandbox network inside the gateway. Its people are made up, and nothing leaves this machine.</p>
<form method="post">${hiddenFields}
<fieldset><legend>Continue as</legend>${people.map(choice)}</fieldset>
<h2>It asks to</h2><ul>${request.scopes.map((scope) => html`<li>${MEANINGS[scope] ?? scope} <span class="muted">(${scope})</span></li>`)}</ul>
<p>You can withdraw the access at any time on your settings page.</p>
<p class="row"><button class="primary" name="decision" value="approve">Allow access</button><button name="decision" value="deny">Deny</button></p>
</form>`,
    { formTarget: new URL(app.redirectUri).origin },
  )
}

function choice(
  { id, name, username, description }: { id: string; name: string; username: string; description: string },
  index: number,
): Html {
  const checked = index === 0 ? html` checked` : html``
  return html`<label><input type="radio" name="user" value="${id}"${checked}> <span>${name} <span class="muted">@${username}. ${description}</span></span></label>`
}

/** Handles the user's decision: redirects back to the app with a code or an error. */
export async function decided(
  form: URLSearchParams,
  app: SandboxApp,
  community: Community,
  grants: Grants,
): Promise<Response> {
  const request = readRequest(form, app)
  if (typeof request === 'string') return refusal(request)
  const back = new URL(app.redirectUri)
  back.searchParams.set('state', request.state)
  if (form.get('decision') !== 'approve') back.searchParams.set('error', 'access_denied')
  else {
    const person = await community.personById(form.get('user') ?? '')
    if (!person) return refusal('Choose one of the people.')
    const { scopes, challenge } = request
    const code = await grants.code({ user: person.id, scopes, challenge, redirectUri: app.redirectUri })
    back.searchParams.set('code', code)
  }
  return new Response(null, {
    status: 303,
    headers: { location: back.href, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  })
}

/** The token and revoke endpoints: the app sends its secret in the header. */
export async function tokenEndpoint(form: URLSearchParams, grants: Grants): Promise<Response> {
  const type = form.get('grant_type')
  const code = type === 'authorization_code'
  if (!code && type !== 'refresh_token') return oauthError(400, 'unsupported_grant_type', 'grant_type is not supported')
  const pair = code
    ? await grants.exchange(form.get('code') ?? '', form.get('redirect_uri') ?? '', form.get('code_verifier') ?? '')
    : await grants.refresh(form.get('refresh_token') ?? '')
  const what = code ? 'authorization code' : 'token'
  if (!pair) return oauthError(400, 'invalid_request', `Value passed for the ${what} was invalid.`)
  return Response.json(
    {
      token_type: 'bearer',
      expires_in: pair.expiresInSeconds,
      access_token: pair.access,
      scope: pair.scopes.join(' '),
      ...(pair.refresh !== null && { refresh_token: pair.refresh }),
    },
    { headers: { 'cache-control': 'no-store' } },
  )
}

export function isApp(request: Request, app: SandboxApp): boolean {
  const pair = `${encodeURIComponent(app.clientId)}:${encodeURIComponent(app.clientSecret)}`
  return request.headers.get('authorization') === `Basic ${btoa(pair)}`
}

export function oauthError(status: number, error: string, description: string): Response {
  return Response.json({ error, error_description: description }, { status })
}

function refusal(why: string): Response {
  return htmlPage('Cannot go on', html`<h1>This cannot go on</h1><p>${why} Go back to the app and start again.</p>`, {
    status: 400,
  })
}
