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
export function decide(gateway: Gateway, link: Link, decision: 'approve' | 'deny' = 'approve', user = ADA.id) {
  return approval(
    (request) => gateway.call(new URL(request.url).pathname + new URL(request.url).search, request),
    link.auth_url,
    decision,
    user,
  )
}

export function comeBack({ call }: Gateway, query: URLSearchParams): Promise<Response> {
  return call(`/apis/v1/social/oauth_callback?${query}`)
}

/** Links a test user of the sandbox to the key, the whole way. */
export async function linkKey(gateway: Gateway, key: MadeKey | string, scopes?: readonly string[], user = ADA.id) {
  const back = await comeBack(gateway, await decide(gateway, await startLink(gateway, key, scopes), 'approve', user))
  if (back.status !== 200) throw new Error(await back.text())
}
