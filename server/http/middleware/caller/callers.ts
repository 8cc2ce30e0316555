import type { AppGrantStore } from '../../../core/accounts/app-grant'
import type { KeyOwner } from '../../../core/accounts/keys'
import { onlyOf } from '../../../core/accounts/roles'
import type { CredentialStore } from '../../../core/credentials/store'

/** A key or an app of an account, with the id used in the request log. */
export interface AccountCaller {
  readonly id: string
  readonly kind: 'key' | 'app'
  readonly name: string
  /** The last four characters of a key's secret. */
  readonly last4: string | null
  /** When it was revoked or disconnected; null while it works. */
  readonly endedAt: number | null
}

/** The keys and apps that called on behalf of the account and that the caller sees, keys first, to resolve the ids in reports. Of more than 10,000 keys the newest. */
export async function callersOf(
  { accountId, member }: Pick<KeyOwner, 'accountId' | 'member'>,
  {
    credentials,
    apps,
  }: { readonly credentials: Pick<CredentialStore, 'lists'>; readonly apps: Pick<AppGrantStore, 'byAccount'> },
): Promise<readonly AccountCaller[]> {
  const only = onlyOf(member)
  const [keys, appGrants] = await Promise.all([
    credentials.lists.seenBy(only).names(accountId),
    apps.byAccount(accountId, only),
  ])
  return [
    ...keys.map(({ id, name, last4, revokedAt }) => ({ id, kind: 'key' as const, name, last4, endedAt: revokedAt })),
    ...appGrants.map(({ id, name, disconnectedAt }) => ({
      id,
      kind: 'app' as const,
      name,
      last4: null,
      endedAt: disconnectedAt,
    })),
  ]
}
