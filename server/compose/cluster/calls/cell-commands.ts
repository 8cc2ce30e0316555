import { isoTime } from '../../../core/clock'
import type { CellName } from '../../../core/cluster/cells'
import { type Forwarding, OPERATOR, type Peer } from '../../../core/cluster/hop'
import type { LeaseCandidate, LeaseStore, Sighting } from '../../../core/cluster/leases'
import { failure } from '../../../core/failure'
import { makeId } from '../../../core/ids'
import { inTimeOrNull } from '../../../core/in-time'
import { FAILURES, failureBody } from '../../../http/middleware/response/failures'
import type { CellReport, OneCell } from '../../../http/operator/nodes/cell-record'
import type { CellRole } from '../roles/cell-role'
import type { NodeRole } from '../roles/node-role'
import type { OwnedGateway } from '../roles/owned-gateway'

/** Asks the owner of a cell for its load. */
const STATUS_PATH = '/internal/cell/status'
/** Asks the owner of a cell to hand it over to the node in the query. */
const HAND_OVER_PATH = '/internal/cell/give'
const MAX_STATUS_MS = 2_000
/** How long the cell's database may take to report its load. */
const MAX_LOAD_MS = 1_500

interface CellCommandParts {
  readonly nodeId: string
  readonly role: NodeRole<OwnedGateway>
  readonly leases: Pick<LeaseStore, 'look' | 'plan'>
  readonly forwarding: Forwarding
  readonly now: () => number
}

/** What only the owner of a cell knows about it. */
type Load = Omit<OneCell, 'name' | 'owner' | 'since' | 'is_pinned'>

const UNKNOWN: Load = {
  ...{ accounts: null, requests: null, long_calls: null, kept_holds: null, unfinished_payments: null },
  ...{ stuck_records: null, commit_wait_ms: null, database_ms: null },
}

/** Operators' commands about cells, on any node. */
export class CellCommands {
  private readonly parts: CellCommandParts

  constructor(parts: CellCommandParts) {
    this.parts = parts
  }

  /** The answer to an operator's command; null if the command is not about cells. */
  async answer(command: string, request: Request): Promise<Response | null> {
    if (command === 'cells') return Response.json(await this.report())
    if (command !== 'cells-move') return null
    const form: unknown = await request.json().catch(() => null)
    const { cell, to } = { cell: '', to: '', ...(typeof form === 'object' && form) }
    return this.move(`${cell}`, `${to}`.replace(/\/$/, ''))
  }

  /** Answers a request of another node to this owner; null for any other path. */
  async fromNode(role: CellRole<OwnedGateway>, request: Request): Promise<Response | null> {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    if (pathname === STATUS_PATH) return Response.json(await loadOf(role))
    if (pathname !== HAND_OVER_PATH) return null
    const { offers } = await this.parts.leases.look()
    const to = offers.find(({ nodeId }) => nodeId === searchParams.get('to'))
    if (!to) return new Response(null, { status: 404 })
    await this.parts.role.handOver(role.cell, to)
    return new Response(null, { status: 204 })
  }

  async report(): Promise<CellReport> {
    const { role, leases } = this.parts
    const sighting = await leases.look()
    return { cells: await Promise.all(role.cells.map((cell) => this.record(cell, sighting))) }
  }

  private async record(cell: CellName, { owners, plans }: Sighting): Promise<OneCell> {
    const owner = owners.get(cell)
    const plan = plans.get(cell)
    const load = owner ? await this.load(cell, owner).catch(() => null) : null
    return {
      name: cell,
      owner: owner?.url ?? null,
      since: owner ? isoTime(owner.takenAt) : null,
      is_pinned: plan?.isPinned === true && plan.nodeId === owner?.nodeId,
      // An owner of an older version reports less.
      ...UNKNOWN,
      ...load,
    }
  }

  private async load(cell: CellName, owner: Peer): Promise<Load> {
    const role = this.parts.role.of(cell)
    if (role && owner.nodeId === this.parts.nodeId) return loadOf(role)
    const answer = await this.hop(owner, STATUS_PATH, AbortSignal.timeout(MAX_STATUS_MS))
    if (!answer.ok) throw new Error('the owner did not answer')
    return (await answer.json()) as Load // our own record, from a node that proved that it has the same secret
  }

  /** Hands a cell over to the node at this URL, and waits until it serves there. */
  private async move(cell: CellName, url: string): Promise<Response> {
    const { role, leases, nodeId } = this.parts
    const owning = role.of(cell)
    if (!owning) return this.refusal(`There is no cell "${cell}". The cells are ${role.cells.join(', ')}.`)
    if (role.cells.length === 1) return this.refusal('There is only one cell. It moves when its owner stops.')
    const { offers, owners } = await leases.look()
    const to = offers.find((offer) => offer.url === url)
    if (!to) return this.refusal(`No node at "${url}" can take cells. Nodes that can: ${listed(offers)}.`)
    if (!to.cells.includes(cell)) return this.refusal(`The node at ${url} could not open ${cell}. See its log.`)
    const owner = owners.get(cell)
    if (!owner) await leases.plan(cell, to.nodeId, true)
    else if (owner.nodeId === nodeId) await role.handOver(cell, to)
    else if (!(await this.hop(owner, `${HAND_OVER_PATH}?to=${to.nodeId}`)).ok)
      return this.refusal(`The node at ${owner.url} did not hand ${cell} over.`, 'service_unavailable')
    const isThere = () => (to.nodeId === nodeId ? owning.owned() !== null : owning.owner()?.nodeId === to.nodeId)
    const isTaken = await role.until(() => isThere() || null)
    const peer = owning.owner()
    // The new owner answers once it has opened the accounts.
    const isServed = isTaken && (to.nodeId === nodeId || (peer !== null && (await this.hop(peer, STATUS_PATH)).ok))
    if (!isServed)
      return this.refusal(
        `${cell} was handed to ${url}, which does not serve it yet. See its log.`,
        'service_unavailable',
      )
    return Response.json({ cell: await this.record(cell, await leases.look()) })
  }

  private hop(owner: Peer, path: string, signal?: AbortSignal): Promise<Response> {
    const request = new Request(`http://owner.internal${path}`, { ...(signal && { signal }) })
    return this.parts.forwarding.forward(request, owner, { address: OPERATOR, requestId: this.newId() })
  }

  private newId() {
    return makeId('req', this.parts.now())
  }

  private refusal(message: string, code: 'invalid_request' | 'service_unavailable' = 'invalid_request'): Response {
    return Response.json(failureBody(failure(code, message), this.newId(), '/'), { status: FAILURES[code].status })
  }
}

async function loadOf(role: CellRole<OwnedGateway>): Promise<Load> {
  const more = await inTimeOrNull(role.owned()?.load?.() ?? Promise.resolve(null), MAX_LOAD_MS)
  return {
    accounts: more?.accounts ?? null,
    requests: role.inProgress,
    long_calls: more?.longCalls ?? null,
    kept_holds: more?.keptHolds ?? null,
    unfinished_payments: more?.unfinishedPayments ?? null,
    stuck_records: more?.stuckRecords ?? null,
    commit_wait_ms: more?.commitWaitMs ?? null,
    database_ms: more?.databaseMs ?? null,
  }
}

function listed(offers: readonly LeaseCandidate[]): string {
  return offers.map(({ url }) => url).join(', ') || 'none'
}
