import type { Missing } from '../../adapters/cluster/forwarder'
import { type ForwardedCall, type Forwarding, HOP_HEADER, type Hopped, OPERATOR } from '../../core/cluster/hop'
import type { LeaseStore } from '../../core/cluster/leases'
import { type Address, formatAddress, parseAddress, UNKNOWN_ADDRESS } from '../../core/credentials/address'
import { failure } from '../../core/failure'
import { failureResponse } from '../../http/middleware/failures'
import type { ContextDeps } from '../../http/middleware/request-context'
import { ownId, requestIds } from '../../http/middleware/request-ids'
import { type NodeReport, nodeReport } from '../../http/operator/node-record'
import { isProbe } from '../../http/routing/endpoint-table'
import type { NodeRole, OwnedGateway, Ownership } from './node-role'

/** An operator's command on its way to the owner. Only a node can send it: it signs the hop as `OPERATOR`. */
const COMMAND_PATH = '/internal/command/'
const MAX_REACH_MS = 2_000
/** How long a caller may be silent who has the rest of a response to read. */
const IDLE_SECONDS = 60

/** The connections of this node's server. */
interface Connections {
  requestIP(request: Request): { readonly address: string } | null
  timeout(request: Request, seconds: number): void
}

interface NodeParts {
  readonly role: NodeRole<OwnedGateway>
  readonly leases: Pick<LeaseStore, 'nodes' | 'look'>
  readonly forwarding: Forwarding
  /** What a hop says of a request to this owner, the response that ends it, or null if it came from a caller. */
  readonly hopOf: (request: Request, ownTerm: number | null) => Hopped | Response | null
  /** Determines callers' addresses, as a gateway alone does. */
  readonly addressOf: ContextDeps['addressOf']
  readonly now: () => number
}

/** What the gateway of a node knows about the node. */
export interface NodeSurroundings {
  readonly lease: Ownership['lease']
  /** Whether this node has the lease of the accounts now. */
  readonly mayGrant: () => boolean
  /** Where a request came from, and what its id is, also if another node forwarded it. */
  readonly callers: Required<Pick<ContextDeps, 'addressOf' | 'requestIdOf'>>
  /** What prevents the node from being ready, apart from the gateway. */
  readonly problem: () => string | null
  readonly report: () => Promise<NodeReport>
}

/** What `/ready` of an owner also says. */
export function nodeReadiness<C extends object>(checks: C, node: NodeSurroundings | undefined) {
  return node ? { checks: { ...checks, node: async () => node.problem() }, nodes: node.report } : { checks }
}

/** One of many nodes: it handles every request, here if it owns the accounts, else by the owner. */
export class GatewayNode {
  private readonly parts: NodeParts
  /** Where a request has the id and the address that another node determined. Nobody else knows the name. */
  private readonly hoppedHeader = `x-hopped-${crypto.randomUUID()}`
  private isAnnounced = false
  /** Set once the server listens. */
  connections: Connections | null = null

  constructor(parts: NodeParts) {
    this.parts = parts
  }

  /** For the gateway of this node: what the first node determined, if there is one. */
  readonly callers: NodeSurroundings['callers'] = {
    addressOf: (socket, headers) => {
      const hopped = headers.get(this.hoppedHeader)
      if (hopped === null) return this.parts.addressOf(socket, headers)
      return parseAddress(hopped.split(' ')[1] ?? '') ?? UNKNOWN_ADDRESS
    },
    // A 503 of the first node, which does not know the outcome, has the id that is in the books.
    requestIdOf: (headers) => ownId(headers.get(this.hoppedHeader)?.split(' ')[0] ?? ''),
  }

  readonly handle = (request: Request): Response | Promise<Response> => {
    const { role, hopOf } = this.parts
    const hop = request.headers.has(HOP_HEADER) ? hopOf(request, role.term) : null
    if (hop instanceof Response) return hop
    if (hop) return this.fromNode(request, hop)
    const own = role.owned()
    if (own) return role.during(() => own.fetch(request))
    const path = pathOf(request)
    return isProbe(path) ? this.probed(path) : this.elsewhere(request)
  }

  /** Handles an operator's command of this node's control socket. */
  readonly control = async (request: Request): Promise<Response> => {
    const { role, forwarding } = this.parts
    const command = pathOf(request).slice(1)
    if (command === 'nodes') return Response.json(await this.report())
    const found = await role.until(() => role.owned() ?? role.owner())
    if (found && 'fetch' in found) return role.during(() => found.control(request))
    const call = this.callOf(request, OPERATOR)
    if (!found) return refused(request, call)
    const body = await request.bytes()
    const headers = { 'content-type': 'application/json', 'content-length': `${body.byteLength}` }
    const url = `http://owner.internal${COMMAND_PATH}${command}`
    return forwarding.forward(new Request(url, { method: 'POST', headers, body }), found, call)
  }

  /** From here on `/ready` of a standby says `draining`. */
  announceStop(): void {
    this.isAnnounced = true
  }

  async report(): Promise<NodeReport> {
    const { leases } = this.parts
    const sighting = await leases.look()
    return nodeReport(sighting, await leases.nodes())
  }

  /** A request that another node forwarded to this owner. */
  private async fromNode(request: Request, hop: Hopped): Promise<Response> {
    const { role } = this.parts
    // It may be about to open the accounts.
    const own = await role.until(() => role.owned() ?? (role.term === null ? 'lost' : null), request.signal)
    if (own === null || own === 'lost' || request.signal.aborted) return refused(request, hop)
    request.headers.delete(HOP_HEADER)
    const path = pathOf(request)
    if (hop.address === OPERATOR) {
      if (!path.startsWith(COMMAND_PATH)) return new Response(null, { status: 404 })
      const command = `http://gateway/${path.slice(COMMAND_PATH.length)}`
      return role.during(() =>
        own.control(new Request(command, { method: 'POST', headers: request.headers, body: request.body })),
      )
    }
    request.headers.set(this.hoppedHeader, `${hop.requestId} ${hop.address}`)
    // The socket is a node's, so it never came from this machine.
    request.headers.append('via', '1.1 gateway')
    return role.during(() => own.fetch(request))
  }

  /** A caller's request, while this node does not own the accounts. */
  private async elsewhere(request: Request): Promise<Response> {
    const { role, forwarding, addressOf } = this.parts
    const found = await role.until(() => role.owned() ?? role.owner(), request.signal)
    const socket: Address = parseAddress(this.connections?.requestIP(request)?.address ?? '') ?? UNKNOWN_ADDRESS
    const allowSilence = (isAllowed: boolean) => this.connections?.timeout(request, isAllowed ? 0 : IDLE_SECONDS)
    const call = { ...this.callOf(request, formatAddress(addressOf(socket, request.headers))), allowSilence }
    // Who left is not charged for a call that has not begun.
    if (!found || request.signal.aborted) return refused(request, call)
    if ('fetch' in found) return role.during(() => found.fetch(request))
    return forwarding.forward(request, found, call)
  }

  /** `/health` and `/ready` of a node that does not own the accounts. It is ready if it reaches the owner. */
  private async probed(path: string): Promise<Response> {
    if (path === '/health') return Response.json({ status: 'ok' })
    const code = this.isAnnounced ? null : await this.unready()
    const isReady = !this.isAnnounced && code === null
    const state = this.isAnnounced
      ? { status: 'draining' }
      : isReady
        ? { status: 'ready' }
        : { status: 'not_ready', code }
    const headers = {
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(!isReady && { 'retry-after': '1' }),
    }
    return Response.json(state, { status: isReady ? 200 : 503, headers })
  }

  /** Which part prevents it from being ready; null if none does. */
  private async unready(): Promise<string | null> {
    const { role, forwarding } = this.parts
    if (role.problem() !== null) return 'node_unavailable'
    const owner = role.owner()
    if (!owner) return 'owner_unavailable'
    const request = new Request('http://owner.internal/health', { signal: AbortSignal.timeout(MAX_REACH_MS) })
    const answer = await forwarding.forward(request, owner, this.callOf(request, formatAddress(UNKNOWN_ADDRESS)))
    await answer.body?.cancel()
    return answer.ok ? null : 'owner_unavailable'
  }

  private callOf(request: Request, address: string): ForwardedCall {
    const requestId = requestIds(request.headers, this.parts.now()).own
    return { address, requestId }
  }
}

function pathOf(request: Request): string {
  return URL.parse(request.url, 'http://localhost')?.pathname ?? '/'
}

/** In place of an answer of the owner: 503 with Retry-After. */
export function notForwarded(request: Request, call: ForwardedCall, { outcome }: Missing): Response {
  if (outcome === 'did not run') return refused(request, call)
  if (outcome === 'late body')
    return refused(request, call, 'The body did not arrive in time. The request did not run.')
  return refused(
    request,
    call,
    'The node that handled this request is gone, and its outcome is unknown. Look its id up in your requests, or send it again with the same Idempotency-Key.',
  )
}

const DID_NOT_RUN = 'No node can handle this request now. It did not run. Try again.'

/** In the shape of the path. */
function refused(request: Request, { requestId }: ForwardedCall, message = DID_NOT_RUN): Response {
  const problem = failure('service_unavailable', message, { retryAfterSeconds: 1 })
  const headers = new Headers({ 'x-gateway-request-id': requestId, 'x-content-type-options': 'nosniff' })
  return failureResponse(problem, requestId, pathOf(request), headers)
}
