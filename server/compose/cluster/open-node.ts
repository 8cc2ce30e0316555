import { randomBytes } from 'node:crypto'
import { Forwarder } from '../../adapters/cluster/forwarder'
import { hopOf } from '../../adapters/cluster/hop-gate'
import { HopHeaders, type HopKeys } from '../../adapters/cluster/hop-header'
import { LibsqlLeases } from '../../adapters/stores/libsql/cluster/lease-store'
import { DataMoved } from '../../adapters/stores/libsql/move/move-mark'
import type { Config } from '../../config'
import { DAY_MS } from '../../core/clock'
import { type CellName, type CellRouter, MAIN_CELL } from '../../core/cluster/cells'
import type { FindOwner, Peer } from '../../core/cluster/hop'
import type { LeaseStore, NodeFacts, Sighting, StoredHopKey } from '../../core/cluster/leases'
import { reasonOf } from '../../core/result'
import { VERSION } from '../../core/version'
import type { Log } from '../../log'
import { clientAddresses } from '../observing/client-addresses'
import type { SearchIndex } from '../search/search-index'
import { askToPrepare } from './calls/ask-to-prepare'
import { CellChanges } from './calls/cell-changes'
import { messagesOver } from './calls/cell-messages'
import { notForwarded } from './calls/not-forwarded'
import { causesOfDifference, fingerprints, hopSecret, isGenuine, newNodeId } from './fingerprints'
import { GatewayNode, type NodeSurroundings, REFRESH } from './gateway-node'
import { openWitness } from './open-witness'
import { NodeRole } from './roles/node-role'
import type { OwnedGateway, Ownership, PreparedGateway } from './roles/owned-gateway'
import { UndecidedCharges } from './undecided-charges'
import { zoneComparison, zoneRules } from './zone-rules'

/** By then, every node has read a new key: only then is it used for signing. */
const KEY_SETTLES_MS = 30_000
const MAX_KEY_AGE_MS = DAY_MS
const REPORT_EVERY_MS = 10_000

interface NodeNeeds {
  readonly nodeUrl: string
  /** The index that the gateways of this node share. */
  readonly index: Pick<SearchIndex, 'problem'>
  readonly log: Log
  /** Opens the accounts of a cell in this process. `onLost` is called when another process owns them or an essential part died. */
  readonly open: (node: NodeSurroundings, onLost: (reason: string) => void) => Promise<OwnedGateway>
  /** The same in two steps: first what needs no ownership, later the rest. */
  readonly prepare: (node: NodeSurroundings, onLost: (reason: string) => void) => Promise<PreparedGateway<OwnedGateway>>
  /** All cells, `main` first, and the router that finds the cell of a request. Without it, `main` is the only cell. */
  readonly several?:
    | {
        readonly cells: readonly CellName[]
        readonly router: CellRouter
        /** Resolves when no gateway of this process has outdated copies of the control database. */
        readonly refresh: () => Promise<void>
        /** Why the database of a cell does not answer this node now; null if it does. */
        readonly askDatabase: (cell: CellName) => Promise<string | null>
      }
    | undefined
  readonly onStuck: (reason: string) => void
}

/** Makes this process one of the nodes on its database. Throws if its secrets differ from the other nodes'. */
export async function openNode(config: Config, needs: NodeNeeds) {
  const { nodeUrl, index, log, open, prepare, several, onStuck } = needs
  const leases = new LibsqlLeases({ url: config.databaseUrl, authToken: config.databaseAuthToken })
  const self = { id: newNodeId(config.secretKey, nodeUrl), url: nodeUrl, version: VERSION, zones: zoneRules() }
  await join(leases, self, config)
  const keys = new SharedKeys(leases, config.secretKey)
  const signer = await keys.signer()
  const now = () => Date.now()
  // Hops carry the database's time, so that they are valid even if the clock of the sender or the owner is wrong.
  const hopTime = () => Math.round(Date.now() - role.aheadMs)
  const findOwner: FindOwner = async (after, signal) =>
    (await role.of(after.cell)?.until(() => successor(after), signal)) ?? null
  const warnUnforwarded = rateLimited((reason) => log.warn('a request could not be forwarded to the owner', { reason }))
  const reportUnknownCell = rateLimited((reason) => log.error('the cell of a request cannot be determined', { reason }))
  const compareZones = zoneComparison(self, log)
  const forwarding = new Forwarder({
    ...{ signer, now: hopTime, findOwner },
    refuse(request, call, missing) {
      if (missing.outcome !== 'late body' && !request.signal.aborted) warnUnforwarded(missing.reason)
      return notForwarded(request, call, missing)
    },
  })
  const role: NodeRole<OwnedGateway> = new NodeRole({
    ...{ self, leases, log, now, onStuck, monotonic: () => performance.now() },
    isGenuine: (owner) => isGenuine(config.secretKey, owner),
    canSearch: async () => (await index.problem()) === null,
    ...(several && { cells: several.cells, askDatabase: several.askDatabase }),
    open: (ownership) => open(surroundingsOf(ownership), ownership.onLost),
    prepare: (ownership) => prepare(surroundingsOf(ownership), ownership.onLost),
    askToPrepare: askToPrepare({ forwarding, now, sighting: () => role.sighting }),
    onSighting(sighting) {
      compareZones(sighting.owners.get(MAIN_CELL) ?? null)
      for (const { cell, term } of sighting.owners.values()) forwarding.abandon(cell, term)
      keys.saw(sighting, role.name === 'owner')
    },
  })
  const surroundingsOf = ({ lease, mayGrant }: Ownership): NodeSurroundings => ({
    ...{ lease, mayGrant, ...node.surroundings, witness, problem: () => role.problem() },
    leaveUndecided: (charge) => undecided.add(lease, charge),
  })
  const nodeId = self.id
  const changes = new CellChanges({ nodeId, leases, forwarding, log, now, monotonic: () => performance.now() })
  /** The next owner. It can also be this node, which is then reached like the others. */
  const successor = (after: Peer): Peer | null => {
    const { cell } = after
    const owning = role.of(cell)
    const term = owning?.term ?? null
    const next = term === null ? owning?.owner() : { cell, nodeId: self.id, url: self.url, term }
    return next && next.term > after.term ? next : null
  }
  const node = new GatewayNode({
    ...{
      nodeId,
      role,
      leases,
      forwarding,
      now,
      searchProblem: () => index.problem(),
      addressOf: clientAddresses(config, log),
    },
    hopOf: (request, isMeant) => hopOf(request, signer, hopTime(), isMeant),
    ...{ router: several?.router, refresh: several?.refresh, onTrouble: reportUnknownCell },
    onFault: (reason) => log.error('request failed', { reason }),
  })
  const messages = messagesOver(node.surroundings.calls)
  const undecided = new UndecidedCharges({ messages, log })
  const witness = several ? openWitness({ nodeId, cells: several.cells, leases, messages, log }) : null
  return {
    ...{ node, role, forwarding },
    /** Resolves when no other node serves with outdated copies of the control database. Never rejects. */
    notifyOtherNodes: () => changes.notifyOtherNodes(REFRESH),
    /** Call it last: the node leaves. */
    async close() {
      await undecided.close()
      await witness?.close()
      await role.end()
      await forwarding.close()
      await leases.close()
    },
  }
}

async function join(leases: LeaseStore, self: Omit<NodeFacts, 'skewMs'>, config: Config) {
  const answer = await leases.join({ ...self, skewMs: 0 }, fingerprints(config)).catch((error: unknown) => {
    if (error instanceof DataMoved) throw error
    const reason = reasonOf(error).replace(/[.?]+$/, '')
    throw new Error(
      `The database at ${URL.parse(config.databaseUrl)?.host ?? 'DATABASE_URL'} does not answer: ${reason}. Check DATABASE_URL and DATABASE_AUTH_TOKEN`,
    )
  })
  if (answer.length === 0) return
  throw new Error(
    `${causesOfDifference(answer).join(' and ')} must be the same as on the other nodes of this database. Set the same, or, to change it, stop all nodes, wait 10 seconds and start them again`,
  )
}

/** Logs why requests are refused, but not for each of them. */
function rateLimited(report: (reason: string) => void): (reason: string) => void {
  let last = Number.NEGATIVE_INFINITY
  return (reason) => {
    const now = performance.now()
    if (now - last < REPORT_EVERY_MS) return
    last = now
    report(reason)
  }
}

/** The keys for hops, which all nodes read from the database. */
class SharedKeys {
  private readonly leases: LeaseStore
  private readonly secretKey: string
  private headers: HopHeaders | null = null
  private inUse = ''
  private isAdding = false

  constructor(leases: LeaseStore, secretKey: string) {
    this.leases = leases
    this.secretKey = secretKey
  }

  async signer(): Promise<HopHeaders> {
    if ((await this.leases.look()).hopKeys.length === 0) await this.add()
    const { hopKeys, at } = await this.leases.look()
    this.headers = new HopHeaders(this.keysOf(hopKeys, at))
    return this.headers
  }

  /** Applies changed keys. The owner adds a new one once a day. */
  saw({ hopKeys, at }: Sighting, isOwner: boolean): void {
    const keys = this.keysOf(hopKeys, at)
    const inUse = [keys.signing, ...keys.accepted].map(({ id }) => id).join()
    if (inUse !== this.inUse) this.headers?.replaceKeys(keys)
    this.inUse = inUse
    const [newest] = hopKeys
    if (!isOwner || this.isAdding || (newest && at - newest.createdAt < MAX_KEY_AGE_MS)) return
    this.isAdding = true
    void this.add()
      .catch(() => undefined)
      .finally(() => (this.isAdding = false))
  }

  private async add(): Promise<void> {
    await this.leases.addHopKey({ id: randomBytes(8).toString('hex'), value: randomBytes(32).toString('base64') })
  }

  private keysOf(known: readonly StoredHopKey[], at: number): HopKeys {
    const accepted = known.map(({ id, value }) => ({ id, secret: hopSecret(this.secretKey, value) }))
    const [newest, older = newest] = accepted
    if (!newest || !older) throw new Error('the database has no keys for nodes')
    const isSettled = at - (known[0]?.createdAt ?? 0) >= KEY_SETTLES_MS
    return { signing: isSettled ? newest : older, accepted }
  }
}
