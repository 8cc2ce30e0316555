import { queryOptions } from '@tanstack/react-query'
import type {
  OwnerSocialLink,
  SocialAccount as SocialAccountRecord,
  SocialAccounts as SocialAccountsRecord,
} from '../../../server/http/social/record.ts'
import { api, unwrap } from './client/client.ts'

export const socialQuery = queryOptions({ queryKey: ['social'], queryFn: fetchAccounts })

export type SocialAccounts = SocialAccountsRecord
export type SocialAccount = SocialAccountRecord
export type StartedLink = OwnerSocialLink

function fetchAccounts() {
  return unwrap(api.social.get())
}

/** This response is the only one that contains the URL where the user approves. */
export const startLink = (keyId: string, scopes: readonly string[]) =>
  unwrap(api.social.post({ key_id: keyId, scopes: [...scopes] }))

/** Unlinks the account of the key and cancels a pending link. */
export const unlink = (keyId: string) => unwrap(api.social({ id: keyId }).delete())
