import type { Harness, MadeKey } from '../harness'
import { approval } from './approval'

const JSON_TYPE = { 'content-type': 'application/json' }

/** Test users of the sandbox network. */
export const ADA = { id: '1001', username: 'ada', name: 'Ada Lovelace' }
export const GRACE = { id: '1002', username: 'grace', name: 'Grace Hopper' }

type Gateway = Pick<Harness, 'as' | 'call'>

export interface Link {
  readonly auth_url: string
  readonly state: string
  readonly expires_at: string
  readonly scopes: readonly string[]
}

/** `POST auth_social`, as an app calls it. */
export async function startLink({ as }: Gateway, key: MadeKey | string, scopes?: readonly string[]): Promise<Link> {
  const answer = await as(key, '/apis/v1/social/auth_social', {
    method: 'POST',
    ...(scopes && { headers: JSON_TYPE, body: JSON.stringify({ scopes }) }),
  })
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Link
}

/** Decides on the consent page, and gives what the browser is sent back with. */
export function decide(
  gateway: Gateway,
  link: Pick<Link, 'auth_url'>,
  decision: 'approve' | 'deny' = 'approve',
  user = ADA.id,
) {
  return approval(
    (request) => gateway.call(new URL(request.url).pathname + new URL(request.url).search, request),
    link.auth_url,
    decision,
    user,
  )
}

export function comeBack({ call }: Pick<Harness, 'call'>, query: URLSearchParams): Promise<Response> {
  return call(`/apis/v1/social/oauth_callback?${query}`)
}

/** The confirmation on the page of a return, and the cookie of its browser. */
export async function questionOf(answer: Response): Promise<{ text: string; link: string; cookie: string }> {
  const text = await answer.text()
  const link = /<input type="hidden" name="link" value="([^"]*)">/.exec(text)?.[1]
  if (answer.status !== 200 || link === undefined) throw new Error(`nothing to confirm: ${answer.status} ${text}`)
  return { text, link, cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
}

/** Presses the button of a page, as the browser that got it. */
export function press(
  { call }: Pick<Harness, 'call'>,
  { link, cookie }: { link: string; cookie: string },
  headers: Record<string, string> = {},
): Promise<Response> {
  return call('/apis/v1/social/oauth_callback/confirm', {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'null',
      'sec-fetch-site': 'same-origin',
      ...(cookie && { cookie }),
      ...headers,
    },
    body: new URLSearchParams({ link }).toString(),
  })
}

/** Comes back from the network, and presses the button. */
export async function confirmed(gateway: Pick<Harness, 'call'>, query: URLSearchParams): Promise<Response> {
  return press(gateway, await questionOf(await comeBack(gateway, query)))
}

/** Links a test user of the sandbox to the key, the whole way. */
export async function linkKey(gateway: Gateway, key: MadeKey | string, scopes?: readonly string[], user = ADA.id) {
  const end = await confirmed(gateway, await decide(gateway, await startLink(gateway, key, scopes), 'approve', user))
  if (end.status !== 200) throw new Error(await end.text())
}
