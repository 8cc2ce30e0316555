import type { Actor } from '../../../core/audit'
import { formatAddress } from '../../../core/credentials/address'
import { failure } from '../../../core/failure'
import type { RequestContext } from '../request-context'
import { Failed } from '../response/failures'

/** The app that calls, and its owner. The audit log names the app grant. Throws for any other caller, who reads `refusal`. */
export function callingApp({ authenticated, address }: RequestContext, refusal: string) {
  const caller = authenticated?.caller
  if (caller?.kind !== 'app') throw new Failed(failure('insufficient_permissions', refusal))
  const { account, grant, role } = caller
  const actor: Actor = { kind: 'app', id: grant.id, address: formatAddress(address) }
  return { account, grant, role, actor }
}
