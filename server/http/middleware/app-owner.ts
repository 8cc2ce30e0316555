import type { KeyOwner } from '../../core/accounts/keys'
import { formatAddress } from '../../core/credentials/address'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { ZERO } from '../../core/money'
import { Failed } from './failures'
import type { RequestContext } from './request-context'

/** The owner on whose behalf an app changes keys. The audit log names the app grant. Throws if the caller is not an app. */
export async function appOwner(context: RequestContext, ledger: Ledger): Promise<KeyOwner> {
  const caller = context.authenticated?.caller
  if (caller?.kind !== 'app')
    throw new Failed(
      failure(
        'insufficient_permissions',
        'API keys cannot manage keys. Use an access token with keys:write, or the dashboard.',
      ),
    )
  const { account, grant } = caller
  const balance = await ledger.balance(account.id)
  return {
    accountId: account.id,
    tier: { ...account, toppedUp: balance?.toppedUp ?? ZERO },
    actor: { kind: 'app', id: grant.id, address: formatAddress(context.address) },
  }
}
