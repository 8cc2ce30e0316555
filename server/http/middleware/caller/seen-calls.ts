import type { AppGrantStore } from '../../../core/accounts/app-grant'
import type { KeyOwner } from '../../../core/accounts/keys'
import { onlyOf } from '../../../core/accounts/roles'
import type { CredentialStore } from '../../../core/credentials/store'
import type { KeyId } from '../../../core/ids'
import type { CallRecord } from '../../../core/usage/call-record'

/** Whose calls are read, and who reads: some members see only the calls of their own keys and apps. */
export type UsageReader = Pick<KeyOwner, 'accountId' | 'member'>

export interface SeenCalls {
  readonly credentials: Pick<CredentialStore, 'lists'>
  readonly apps: Pick<AppGrantStore, 'byAccount'>
}

/** The keys that the reader sees and that have a tag, as keys have it, revoked ones among them; without a tag the apps too. Null means all calls. */
export async function seenKeys(
  { credentials, apps }: SeenCalls,
  { accountId, member }: UsageReader,
  tag?: string,
): Promise<readonly KeyId[] | null> {
  const only = onlyOf(member)
  const lists = credentials.lists.seenBy(only)
  if (tag !== undefined) return lists.withTag(accountId, tag)
  if (only === null) return null
  const [keys, own] = await Promise.all([lists.names(accountId), apps.byAccount(accountId, only)])
  // The log has the id of an app in the same place.
  return [...keys, ...own].map(({ id }) => id as KeyId)
}

/** Whether the reader sees this call of the account. */
export async function seesCall(
  parts: SeenCalls,
  reader: UsageReader,
  { keyId }: Pick<CallRecord, 'keyId'>,
): Promise<boolean> {
  const seen = await seenKeys(parts, reader)
  return seen === null || seen.some((id) => id === keyId)
}
