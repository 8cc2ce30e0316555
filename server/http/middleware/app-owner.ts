import type { KeyOwner } from '../../core/accounts/keys'
import { formatAddress } from '../../core/credentials/address'
import { failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import { ZERO } from '../../core/money'
import { Failed } from './failures'
import type { Exchange } from './reply'

/** The owner in whose name an app changes keys. The audit names the app's connection. Throws for a caller that is no app. */
export async function appOwner(exchange: Exchange, ledger: Ledger): Promise<KeyOwner> {
  const caller = exchange.admitted?.caller
  if (caller?.kind !== 'app')
    throw new Failed(
      failure(
        'insufficient_permissions',
        'An API key makes no keys: use an access token with keys:write, or the dashboard.',
      ),
    )
  const { account, connection } = caller
  const balance = await ledger.balance(account.id)
  return {
    accountId: account.id,
    tier: { ...account, toppedUp: balance?.toppedUp ?? ZERO },
    actor: { kind: 'app', id: connection.id, address: formatAddress(exchange.presented.address) },
  }
}
