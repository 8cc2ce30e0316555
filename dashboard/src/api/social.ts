import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type {
  OwnerSocialLink,
  SocialAccount as SocialAccountRecord,
  SocialAccounts as SocialAccountsRecord,
} from '../../../server/http/social/record.ts'
import { api, defined, unwrap } from './client/client.ts'

/** The keys with their social accounts, in pages; with `q`, of keys whose name contains it. */
export const socialQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: [...SOCIAL, 'list', q],
    queryFn: ({ pageParam }) =>
      unwrap(api.social.get({ query: defined({ limit: 25, q: q || null, cursor: pageParam }) })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** The social account of one key; null if it is listed under its successor. */
export const keySocialQuery = (key: string) =>
  queryOptions({
    queryKey: [...SOCIAL, 'key', key],
    queryFn: async () => (await unwrap(api.social.get({ query: { key } }))).accounts[0] ?? null,
  })

/** The beginning of the name of each query here. */
export const SOCIAL = ['social'] as const

export type SocialAccounts = SocialAccountsRecord
export type SocialAccount = SocialAccountRecord
export type StartedLink = OwnerSocialLink

/** This response is the only one that contains the URL where the user approves. */
export const startLink = (keyId: string, scopes: readonly string[]) =>
  unwrap(api.social.post({ key_id: keyId, scopes: [...scopes] }))

/** Unlinks the account of the key and cancels a pending link. */
export const unlink = (keyId: string) => unwrap(api.social({ id: keyId }).delete())
