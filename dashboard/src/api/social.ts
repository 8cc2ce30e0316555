import { queryOptions } from '@tanstack/react-query'
import { api, unwrap } from './client/client.ts'

export const socialQuery = queryOptions({ queryKey: ['social'], queryFn: fetchAccounts })

export type SocialAccounts = Awaited<ReturnType<typeof fetchAccounts>>
export type SocialAccount = SocialAccounts['accounts'][number]
export type StartedLink = Awaited<ReturnType<typeof startLink>>

function fetchAccounts() {
  return unwrap(api.social.get())
}

/** The answer holds the address where the user approves, here and never again. */
export const startLink = (keyId: string, scopes: readonly string[]) =>
  unwrap(api.social.post({ key_id: keyId, scopes: [...scopes] }))

/** Unlinks what is linked to the key, and cancels a link that waits. */
export const unlink = (keyId: string) => unwrap(api.social({ id: keyId }).delete())
