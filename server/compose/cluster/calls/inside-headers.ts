import { staffIn, staffText } from '../../../adapters/cluster/hop-header'
import type { StaffClaim } from '../../../core/cluster/cells'
import type { ForwardedCall } from '../../../core/cluster/hop'
import { parseAddress, UNKNOWN_ADDRESS } from '../../../core/credentials/address'
import type { ContextDeps } from '../../../http/middleware/request-context'
import { ownId } from '../../../http/middleware/request-ids'

/** The origin and the id of a request. */
export type Callers = Required<Pick<ContextDeps, 'addressOf' | 'requestIdOf'>>

/** Headers by which a node passes what it knows about a request to its own gateways. Their names are random, so nobody else can send them. */
export class InsideHeaders {
  /** The id and the address that another node determined. */
  private readonly hopped = `x-hopped-${crypto.randomUUID()}`
  private readonly staff = `x-staff-${crypto.randomUUID()}`
  private readonly addressOf: ContextDeps['addressOf']

  /** `addressOf` determines the address of a request that came from a caller. */
  constructor(addressOf: ContextDeps['addressOf']) {
    this.addressOf = addressOf
  }

  /** Marks a request that no caller sent to this process. */
  mark({ headers }: Request, { requestId, address, staff }: ForwardedCall): void {
    headers.set(this.hopped, `${requestId} ${address}`)
    if (staff) headers.set(this.staff, staffText(staff))
    else headers.delete(this.staff)
    // The socket belongs to a node, so the request must not count as one from this machine.
    headers.append('via', '1.1 gateway')
  }

  /** Removes the mark of a request and returns its content; null without one. */
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
    // If the forwarding node answers 503 because the outcome is unknown, it uses the id that is in the books.
    requestIdOf: (headers) => ownId(headers.get(this.hopped)?.split(' ')[0] ?? ''),
  }

  /** The operator whom the gateway of `main` authenticated for this request; null if there is none. */
  readonly staffOf = (headers: Headers): StaffClaim | null => {
    const claim = headers.get(this.staff)
    return claim === null ? null : staffIn(claim)
  }
}
