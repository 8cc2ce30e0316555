import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { CredentialStore } from '../../core/credentials/store'
import type { AccountId } from '../../core/ids'

/** A key or an app of an account, by the id that the request log has of it. */
export interface Payer {
  readonly id: string
  readonly kind: 'key' | 'app'
  readonly name: string
  /** Of a key's secret. */
  readonly last4: string | null
  /** When it was revoked or disconnected. */
  readonly endedAt: number | null
}

/** Everything that ever called in the account's name, keys first: what the ids of reports mean. */
export async function payersOf(
  account: AccountId,
  { credentials, apps }: { readonly credentials: CredentialStore; readonly apps: Pick<AppGrantStore, 'byAccount'> },
): Promise<readonly Payer[]> {
  const [keys, appGrants] = await Promise.all([credentials.byAccount(account), apps.byAccount(account)])
  return [
    ...keys.map(({ id, name, last4, revokedAt }) => ({ id, kind: 'key' as const, name, last4, endedAt: revokedAt })),
    ...appGrants.map(({ id, name, disconnectedAt }) => ({
      ...{ id, kind: 'app' as const, name },
      ...{ last4: null, endedAt: disconnectedAt },
    })),
  ]
}
