import { staffIn, staffText } from '../../../adapters/cluster/hop-header'
import type { StaffClaim } from '../../../core/cluster/cells'
import type { ForwardedCall } from '../../../core/cluster/hop'
import { parseAddress, UNKNOWN_ADDRESS } from '../../../core/credentials/address'
import type { ContextDeps } from '../../../http/middleware/request-context'
import { ownId } from '../../../http/middleware/request-ids'

/** Where a request came from, and what its id is. */
export type Callers = Required<Pick<ContextDeps, 'addressOf' | 'requestIdOf'>>

/** Headers by which a node tells its own gateways what it knows of a request. Nobody else knows their names, so nobody else can send them. */
export class InsideHeaders {
  /** The id and the address that another node determined. */
  private readonly hopped = `x-hopped-${crypto.randomUUID()}`
  private readonly staff = `x-staff-${crypto.randomUUID()}`
  private readonly addressOf: ContextDeps['addressOf']

  /** `addressOf` determines the address of a request that came from a caller. */
  constructor(addressOf: ContextDeps['addressOf']) {
    this.addressOf = addressOf
  }

  /** Says it of a request that a caller did not send to this process. */
  mark({ headers }: Request, { requestId, address, staff }: ForwardedCall): void {
    headers.set(this.hopped, `${requestId} ${address}`)
    if (staff) headers.set(this.staff, staffText(staff))
    else headers.delete(this.staff)
    // The socket is a node's, so it never came from this machine.
    headers.append('via', '1.1 gateway')
  }

  /** Removes what was said of a request, and returns it; null if nothing was. */
  taken({ headers }: Request): ForwardedCall | null {
    const [requestId, address] = headers.get(this.hopped)?.split(' ') ?? []
    headers.delete(this.hopped)
    headers.delete(this.staff)
    return requestId !== undefined && address !== undefined ? { requestId, address } : null
  }

  readonly callers: Callers = {
    addressOf: (socket, headers) => {
      const hopped = headers.get(this.hopped)
      if (hopped === null) return this.addressOf(socket, headers)
      return parseAddress(hopped.split(' ')[1] ?? '') ?? UNKNOWN_ADDRESS
    },
    // A 503 of the first node, which does not know the outcome, has the id that is in the books.
    requestIdOf: (headers) => ownId(headers.get(this.hopped)?.split(' ')[0] ?? ''),
  }

  /** The operator whom the gateway of `main` checked for this request; null if there is none. */
  readonly staffOf = (headers: Headers): StaffClaim | null => {
    const claim = headers.get(this.staff)
    return claim === null ? null : staffIn(claim)
  }
}
