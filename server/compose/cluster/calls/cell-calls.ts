import type { CellCalls, CellName, StaffClaim } from '../../../core/cluster/cells'
import { type ForwardedCall, type Forwarding, OPERATOR } from '../../../core/cluster/hop'
import { makeId } from '../../../core/ids'
import type { NodeRole } from '../roles/node-role'
import type { OwnedGateway } from '../roles/owned-gateway'
import type { InsideHeaders } from './inside-headers'
import { reasonFor, unavailableResponse } from './not-forwarded'

/** The JSON of a command; empty for none. */
export type CommandBody = string | Uint8Array<ArrayBuffer>

/** The path of an operator's command that is sent to an owner. Only a node can send it: it signs the hop as `OPERATOR`. */
export const COMMAND_PATH = '/internal/command/'

interface CellCallParts {
  readonly role: NodeRole<OwnedGateway>
  readonly forwarding: Forwarding
  readonly inside: InsideHeaders
  readonly now: () => number
}

/** Sends a gateway's requests for another cell to the owner of that cell, which may be this node. */
export class NodeCellCalls implements CellCalls {
  private readonly parts: CellCallParts

  constructor(parts: CellCallParts) {
    this.parts = parts
  }

  cells(): readonly CellName[] {
    return this.parts.role.cells
  }

  /** Changes the headers of the request and consumes its body. The address is that of `staff`, or the caller's of a forwarded request. */
  async ask(cell: CellName, request: Request, staff?: StaffClaim): Promise<Response> {
    const { role, forwarding, inside } = this.parts
    const known = inside.taken(request)
    // The console has no address.
    const address = staff?.address || known?.address || 'unknown'
    const call: ForwardedCall = { requestId: known?.requestId ?? this.newId(), address, staff }
    const owning = role.of(cell)
    const found = await owning?.found(request.signal)
    if (!owning || !found || request.signal.aborted) return unavailableResponse(request, call, reasonFor(owning))
    if (!('fetch' in found)) return forwarding.forward(await withLength(request), found, call)
    inside.mark(request, call)
    return owning.during(() => found.fetch(request))
  }

  /** Runs a command of the control socket in the gateway of a cell. */
  async command(cell: CellName, command: string, body: CommandBody, signal?: AbortSignal): Promise<Response> {
    const { role, forwarding, now } = this.parts
    const owning = role.of(cell)
    const found = await owning?.found(signal)
    const call = commandCall(now())
    const here = () => commandRequest('here', command, body, signal)
    if (!owning || !found || signal?.aborted) return unavailableResponse(here(), call, reasonFor(owning))
    if ('fetch' in found) return owning.during(() => found.control(here()))
    return forwarding.forward(commandRequest('hop', command, body, signal), found, call)
  }

  private newId(): string {
    return makeId('req', this.parts.now())
  }
}

/** The call of a hop that carries a command: no caller has this address. */
export function commandCall(now: number): ForwardedCall {
  return { requestId: makeId('req', now), address: OPERATOR }
}

/** A command as a gateway of this process receives it, or as it is sent to the node that owns the cell. */
export function commandRequest(to: 'here' | 'hop', command: string, given: CommandBody, signal?: AbortSignal): Request {
  const url = to === 'here' ? `http://gateway/${command}` : `http://owner.internal${COMMAND_PATH}${command}`
  const body = typeof given === 'string' ? new TextEncoder().encode(given) : given
  const headers = { 'content-type': 'application/json', 'content-length': `${body.byteLength}` }
  return new Request(url, { method: 'POST', headers, body, ...(signal && { signal }) })
}

/** A request created in this process has no content length. */
async function withLength(request: Request): Promise<Request> {
  const { headers, body } = request
  if (body === null || headers.has('content-length') || headers.has('transfer-encoding')) return request
  const bytes = await request.bytes()
  const measured = new Headers(headers)
  measured.set('content-length', `${bytes.byteLength}`)
  return new Request(request.url, { method: request.method, headers: measured, body: bytes, signal: request.signal })
}
