import { asksForLink, asksToPrepare, hopRefusal, type IsMeant, probeAnswer } from '../../adapters/cluster/hop-gate'
import { IncomingLinks, type LinkServer } from '../../adapters/cluster/incoming-links'
import type { CellName, CellRouter, StaffClaim } from '../../core/cluster/cells'
import { MAIN_CELL } from '../../core/cluster/cells'
import type { DirectoryWitness } from '../../core/cluster/directory-witness'
import {
  type ForwardedCall,
  type Forwarding,
  HOP_HEADER,
  type Hopped,
  OPERATOR,
  type Peer,
} from '../../core/cluster/hop'
import { LEASE_MS, type LeaseStore, RENEW_MS } from '../../core/cluster/leases'
import { type Address, formatAddress, parseAddress, UNKNOWN_ADDRESS } from '../../core/credentials/address'
import type { UndecidedCharge } from '../../core/ledger/ledger'
import { reasonOf } from '../../core/result'
import type { ContextDeps } from '../../http/middleware/request-context'
import { requestIds } from '../../http/middleware/request-ids'
import type { CellReport } from '../../http/operator/nodes/cell-record'
import { type NodeReport, nodeReport } from '../../http/operator/nodes/node-record'
import { isProbe } from '../../http/routing/endpoint-table'
import { COMMAND_PATH, NodeCellCalls } from './calls/cell-calls'
import { CellCommands } from './calls/cell-commands'
import { type Callers, InsideHeaders } from './calls/inside-headers'
import { pathOf, reasonFor, unavailableResponse } from './calls/not-forwarded'
import type { CellRole } from './roles/cell-role'
import type { NodeRole } from './roles/node-role'
import type { OwnedGateway, Ownership } from './roles/owned-gateway'

const MAX_REACH_MS = 2_000
/** How long after a cell was last served its next owner is expected: by then the lease of a dead owner has expired, and requests wait even longer. */
const AWAITED_MS = LEASE_MS + RENEW_MS
/** How long a caller may be silent that still has to read the rest of a response. */
const IDLE_SECONDS = 60

/** The command that makes other nodes reload the control database. */
export const REFRESH = 'refresh'

/** The connections of this node's server. */
interface Connections extends LinkServer {
  requestIP(request: Request): { readonly address: string } | null
  timeout(request: Request, seconds: number): void
}

interface NodeParts {
  readonly role: NodeRole<OwnedGateway>
  readonly nodeId: string
  readonly leases: Pick<LeaseStore, 'nodes' | 'look' | 'plan'>
  readonly forwarding: Forwarding
  /** The content of the hop of a request to this owner, a response that refuses it, or null if it came from a caller. */
  readonly hopOf: (request: Request, isMeant: IsMeant) => Hopped | Response | null
  /** Determines callers' addresses, as a single gateway does. */
  readonly addressOf: ContextDeps['addressOf']
  readonly now: () => number
  /** Why this node could not answer searches if it owned a cell; null if it could. */
  readonly searchProblem?: () => Promise<string | null>
  /** Only with several cells. */
  readonly router?: CellRouter | undefined
  /** Only with several cells: reloads the control database in all gateways of this process, including those that are opening. */
  readonly refresh?: (() => Promise<void>) | undefined
  /** Called with the reason when the cell of a request cannot be determined. */
  readonly onTrouble?: (reason: string) => void
  /** Called when a forwarded request failed through no fault of its own. */
  readonly onFault?: (reason: string) => void
}

/** What a gateway knows about its node. */
export interface NodeSurroundings {
  readonly lease: Ownership['lease']
  /** Whether this node holds the lease of the accounts now. */
  readonly mayGrant: () => boolean
  /** The origin and id of a request, even if another node forwarded it. */
  readonly callers: Callers
  /** The operator whom the gateway of `main` authenticated for a request in another cell; null if there is none. */
  readonly staffOf: (headers: Headers) => StaffClaim | null
  readonly calls: Pick<NodeCellCalls, 'ask' | 'cells' | 'command'>
  /** Null with one cell. */
  readonly witness: Pick<DirectoryWitness, 'since' | 'vouches'> | null
  /** Takes a charge whose outcome this gateway could not determine, and sends it to the next owner of its cell. */
  readonly leaveUndecided: (charge: UndecidedCharge) => void
  /** What prevents the node from being ready, apart from the gateway. */
  readonly problem: () => string | null
  readonly report: () => Promise<NodeReport>
  readonly cells: () => Promise<CellReport>
}

/** The node's part of an owner's `/ready`; only the owner of `main` asks the other cells. */
export function nodeReadiness<C extends object>(checks: C, node: NodeSurroundings | undefined) {
  if (!node) return { checks }
  const reportsCells = node.lease.cell === MAIN_CELL && node.calls.cells().length > 1
  return {
    checks: { ...checks, node: async () => node.problem() },
    nodes: node.report,
    ...(reportsCells && { cells: node.cells }),
  }
}

/** Whether it is `/health` or `/ready`. Most URLs need no parsing for that. */
function asksForHealth(request: Request): boolean {
  const { url } = request
  return (url.includes('/ready') || url.includes('/health')) && isProbe(pathOf(request))
}

/** One of many nodes. It handles every request: here if it owns the accounts of the request's cell, otherwise through the owner. */
export class GatewayNode {
  private readonly parts: NodeParts
  private readonly inside: InsideHeaders
  private readonly calls: NodeCellCalls
  private readonly cellCommands: CellCommands
  /** Since when the owner of each cell, by its term, has been out of reach. */
  private readonly unreachedSince = new Map<CellName, { readonly term: number; readonly at: number }>()
  /** Since when no node has served a cell, as far as this node sees; null while one does. Without cells that were never served. */
  private readonly unservedSince = new Map<CellName, number | null>()
  private isAnnounced = false
  /** Connections on which other nodes forward many calls. */
  readonly links: IncomingLinks
  /** Set once the server listens. */
  connections: Connections | null = null

  constructor(parts: NodeParts) {
    this.parts = parts
    this.inside = new InsideHeaders(parts.addressOf)
    this.calls = new NodeCellCalls({ ...parts, inside: this.inside })
    this.cellCommands = new CellCommands(parts)
    this.links = new IncomingLinks({
      answer: (request, hop) =>
        (asksToPrepare(request, hop) ? null : hopRefusal(hop, this.meantFor(request))) ?? this.fromNode(request, hop),
      onFault: (reason) => parts.onFault?.(reason),
    })
  }

  /** For the gateways of this node: what the forwarding node determined, if there is one. */
  get callers(): Callers {
    return this.inside.callers
  }

  /** For the gateways of this node. */
  get surroundings(): Pick<NodeSurroundings, 'callers' | 'staffOf' | 'calls' | 'report' | 'cells'> {
    const { callers, staffOf } = this.inside
    const cells = () => this.cellCommands.report()
    return { callers, staffOf, calls: this.calls, report: () => this.report(), cells }
  }

  readonly handle = (request: Request): Response | Promise<Response> => {
    const { role, hopOf, router } = this.parts
    const hop = request.headers.has(HOP_HEADER) ? hopOf(request, this.meantFor(request)) : null
    if (hop instanceof Response) return hop
    if (hop && this.connections && asksForLink(request, hop)) return this.links.accept(request, this.connections)
    if (hop) return this.fromNode(request, hop)
    if (router) return this.routed(request, router)
    const own = role.owned()
    if (own) return role.during(() => own.fetch(request))
    return asksForHealth(request) ? this.probed(pathOf(request)) : this.elsewhere(request, role.main)
  }

  /** Handles an operator's command from this node's control socket. */
  readonly control = async (request: Request): Promise<Response> => {
    const command = pathOf(request).slice(1)
    if (command === 'nodes') return Response.json(await this.report())
    const answer = await this.cellCommands.answer(command, request)
    return answer ?? this.calls.command(MAIN_CELL, command, await request.bytes())
  }

  /** From now on, `/ready` of a standby answers `draining`. */
  announceStop(): void {
    this.isAnnounced = true
  }

  async report(): Promise<NodeReport> {
    const { leases } = this.parts
    const sighting = await leases.look()
    return nodeReport(sighting, await leases.nodes())
  }

  /** An owner that is releasing its cell accepts no requests, but must apply changes as long as its calls run. */
  private meantFor({ url }: Request): IsMeant {
    const { role } = this.parts
    if (url.endsWith(COMMAND_PATH + REFRESH)) return (cell, term) => role.of(cell)?.held?.term === term
    return (cell, term) => role.of(cell)?.isMeant(term) ?? false
  }

  /** Handles a request that another node forwarded to this owner. */
  private async fromNode(request: Request, hop: Hopped): Promise<Response> {
    const { refresh } = this.parts
    if (refresh && hop.address === OPERATOR && pathOf(request) === COMMAND_PATH + REFRESH) {
      await refresh()
      return new Response(null, { status: 204 })
    }
    const role = this.parts.role.of(hop.cell)
    if (asksToPrepare(request, hop)) {
      const isPrepared = await this.parts.role.prepare(hop.cell)
      return new Response(null, { status: isPrepared ? 204 : 503 })
    }
    const deciding = role?.decided ?? null
    if (deciding !== null) {
      await deciding
      const misdirected = hopRefusal(hop, this.meantFor(request))
      if (misdirected) return misdirected
    }
    const probed = probeAnswer(request, hop)
    if (probed) return probed
    // This node may be about to open the accounts.
    const look = () => role?.owned() ?? (role && role.term !== null ? null : 'lost')
    const own = look() ?? (await this.parts.role.until(look, request.signal))
    if (!role || own === null || own === 'lost' || request.signal.aborted) return unavailableResponse(request, hop)
    request.headers.delete(HOP_HEADER)
    if (hop.address === OPERATOR) {
      const path = pathOf(request)
      if (!path.startsWith(COMMAND_PATH))
        return (await this.cellCommands.fromNode(role, request)) ?? new Response(null, { status: 404 })
      const command = `http://gateway/${path.slice(COMMAND_PATH.length)}`
      return role.during(() =>
        own.control(new Request(command, { method: 'POST', headers: request.headers, body: request.body })),
      )
    }
    this.inside.mark(request, hop)
    return role.during(() => own.fetch(request))
  }

  /** Handles a caller's request when there are several cells. Returns no promise if the cell is known. */
  private routed(request: Request, router: CellRouter): Response | Promise<Response> {
    if (asksForHealth(request)) return this.probed(pathOf(request))
    const cell = router.cellOf(request)
    if (typeof cell === 'string') return this.inCell(request, cell)
    return cell.then(
      (found) => this.inCell(request, found),
      (error: unknown) => {
        this.parts.onTrouble?.(reasonOf(error))
        return this.refusedUnrouted(request)
      },
    )
  }

  private inCell(request: Request, cell: CellName): Response | Promise<Response> {
    const role = this.parts.role.of(cell)
    if (!role) return this.refusedUnrouted(request)
    const own = role.owned()
    return own ? role.during(() => own.fetch(request)) : this.elsewhere(request, role)
  }

  private refusedUnrouted(request: Request): Response {
    return unavailableResponse(request, this.callOf(request, formatAddress(UNKNOWN_ADDRESS)))
  }

  /** Handles a caller's request for a cell that this node does not own. Creates no promise if the owner is known. */
  private elsewhere(request: Request, role: CellRole<OwnedGateway>): Response | Promise<Response> {
    const owner = role.owner()
    const { signal } = request
    return owner && !signal.aborted ? this.sentOn(request, owner) : this.whenOwned(request, role)
  }

  private sentOn(request: Request, owner: Peer): Promise<Response> {
    const allowSilence = (isAllowed: boolean) => this.connections?.timeout(request, isAllowed ? 0 : IDLE_SECONDS)
    return this.parts.forwarding.forward(request, owner, { ...this.callerOf(request), allowSilence })
  }

  private async whenOwned(request: Request, role: CellRole<OwnedGateway>): Promise<Response> {
    const found = await role.found(request.signal)
    // A caller that hung up is not charged for a call that has not begun.
    if (!found || request.signal.aborted) return unavailableResponse(request, this.callerOf(request), reasonFor(role))
    return 'fetch' in found ? role.during(() => found.fetch(request)) : this.sentOn(request, found)
  }

  /** The call of a caller, with the address that this node determines. */
  private callerOf(request: Request): ForwardedCall {
    const socket: Address = parseAddress(this.connections?.requestIP(request)?.address ?? '') ?? UNKNOWN_ADDRESS
    return this.callOf(request, formatAddress(this.parts.addressOf(socket, request.headers)))
  }

  /** `/health` and `/ready` of a node that does not own the accounts, or where there are several cells. */
  private async probed(path: string): Promise<Response> {
    if (path === '/health') return Response.json({ status: 'ok' })
    const { code, missing } = this.isAnnounced ? { code: null, missing: [] } : await this.readiness()
    const isReady = !this.isAnnounced && code === null
    const state = this.isAnnounced
      ? { status: 'draining' }
      : isReady
        ? { status: 'ready', ...(missing.length > 0 && { missing_cells: missing }) }
        : { status: 'not_ready', code }
    const headers = {
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(!isReady && { 'retry-after': '1' }),
    }
    return Response.json(state, { status: isReady ? 200 : 503, headers })
  }

  /**
   * Which part prevents the node from being ready, and the cells that no node serves now. It is not ready if no cell is served, except while requests wait
   * for the next owner: otherwise a balancer would refuse them all at each hand-over.
   */
  private async readiness(): Promise<{ readonly code: string | null; readonly missing: readonly CellName[] }> {
    const { role, searchProblem } = this.parts
    if (role.problem() !== null) return { code: 'node_unavailable', missing: [] }
    if (searchProblem && (await searchProblem()) !== null) return { code: 'search_unavailable', missing: [] }
    const states = await Promise.all(role.cells.map(async (cell) => ({ cell, state: await this.stateOf(cell) })))
    const missing = states.flatMap(({ cell, state }) => (state === 'served' ? [] : [cell]))
    const isUseful = states.some(
      ({ cell, state }) => state === 'served' || (state === 'missing' && this.isAwaited(cell)),
    )
    const isOut = !isUseful || states.some(({ state }) => state === 'unreachable')
    return { code: isOut ? 'owner_unavailable' : null, missing }
  }

  /**
   * Whether the accounts of a cell are served, as far as this node sees. `unreachable`: other nodes reach the owner, but this one does not. While the
   * lease may belong to a dead node, all nodes see the same, and a balancer must not remove all of them. `unready`: the owner is this node, and cannot
   * serve.
   */
  private async stateOf(cell: CellName): Promise<'served' | 'missing' | 'unready' | 'unreachable'> {
    const { role, now } = this.parts
    const own = role.of(cell)?.owned()
    const owner = role.of(cell)?.owner()
    if (own ? (await own.fetch(new Request('http://localhost/ready'))).ok : owner && (await this.reaches(owner))) {
      this.unservedSince.set(cell, null)
      this.unreachedSince.delete(cell)
      return 'served'
    }
    if (own) return 'unready'
    if (this.unservedSince.has(cell)) this.unservedSince.set(cell, this.unservedSince.get(cell) ?? now())
    if (!owner) return 'missing'
    const known = this.unreachedSince.get(cell)
    const unreached = known?.term === owner.term ? known : { term: owner.term, at: now() }
    this.unreachedSince.set(cell, unreached)
    return now() - unreached.at > AWAITED_MS ? 'unreachable' : 'missing'
  }

  private isAwaited(cell: CellName): boolean {
    const since = this.unservedSince.get(cell)
    return typeof since === 'number' && this.parts.now() - since <= AWAITED_MS
  }

  private async reaches(owner: Peer): Promise<boolean> {
    const request = new Request('http://owner.internal/health', { signal: AbortSignal.timeout(MAX_REACH_MS) })
    const call = this.callOf(request, formatAddress(UNKNOWN_ADDRESS))
    const answer = await this.parts.forwarding.forward(request, owner, call)
    await answer.body?.cancel()
    return answer.ok
  }

  private callOf(request: Request, address: string): ForwardedCall {
    const requestId = requestIds(request.headers, this.parts.now()).own
    return { address, requestId }
  }
}
