import type { Client, InStatement, InValue, Row } from '@libsql/client'
import { HOUR_MS } from '../../../../core/clock'
import type { CellName } from '../../../../core/cluster/cells'
import {
  type CellOwner,
  type HeldCell,
  LEASE_MS,
  type LeaseCandidate,
  type LeaseStore,
  type NodeFacts,
  type NodeState,
  otherFingerprints,
  PLAN_MS,
  type Plan,
  type Sighting,
  type StoredHopKey,
} from '../../../../core/cluster/leases'
import { type DatabaseAddress, serverClient } from '../driver/network/server-client'
import { refuseMoved, refuseWhileMoving } from '../move/move-mark'
import { cellOf, LEASE_TABLES, LIVES, leaseOf, MAIN_LEASE, NOW, RUNS } from './lease-tables'
import { WriteLock } from './write-lock'

/** Less than the time between two renewals, so that a hanging request does not use up the lease. */
const DEADLINE_MS = 2_500
/** Nodes that were not seen for an hour are removed. */
const FORGET_MS = HOUR_MS
const HOP_KEY = 'hop/'
const FINGERPRINT = 'equal/'
/** The time zone rules of each node, which may differ. */
const ZONES = 'zones/'
/** The cells that each node can take, as JSON. Only with several cells. */
const OFFER = 'offer/'
/** The text by which each node notices an older copy of the database. Only with several cells. */
const WITNESS = 'witness/'
/** By cell: the node that should have it, and whether it is pinned there. */
const PLAN = 'plan/'
const PINNED = ' pinned'

/** The names of the fingerprints, given as JSON, that have changed: the other nodes were restarted while this one was disconnected. */
const changed = (given: string) => `SELECT substr(s.name, ${FINGERPRINT.length + 1}) AS name FROM secrets s
  JOIN json_each(${given}) g ON s.name = '${FINGERPRINT}' || g.key WHERE s.value <> g.value`
const TAKE = `INSERT INTO leases (name, node_id, url, term, taken_at, expires_at)
  SELECT ?4, ?1, ?2, ?5 + 1, ${NOW}, ${NOW} + ${LEASE_MS} WHERE NOT EXISTS (${changed('?3')})
  ON CONFLICT (name) DO UPDATE SET node_id = ?1, url = ?2, term = max(term, ?5) + 1, taken_at = ${NOW}, expires_at = ${NOW} + ${LEASE_MS}
  WHERE NOT (${RUNS}) RETURNING term`
const EVICTED = 'evicted/'
/** A renewal that arrives after the release must not undo it. */
const RENEW = `UPDATE leases SET expires_at = ${NOW} + ${LEASE_MS} WHERE node_id = ?1 AND expires_at > 0
  AND NOT EXISTS (SELECT 1 FROM secrets s WHERE s.name = '${EVICTED}' || leases.name AND s.value = CAST(leases.term AS TEXT))
  AND (name, term) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?2)) RETURNING name`
const RELEASE = 'UPDATE leases SET expires_at = 0 WHERE name = ?3 AND node_id = ?1 AND term = ?2'
const BEAT = `INSERT INTO nodes (id, url, version, skew_ms, started_at, seen_at) VALUES (?1, ?2, ?3, ?4, ${NOW}, ${NOW})
  ON CONFLICT (id) DO UPDATE SET skew_ms = ?4, seen_at = ${NOW}`
const NAMES_CELL = `(name = '${MAIN_LEASE}' OR name LIKE '${MAIN_LEASE}/%')`
/** A node that let a lease expire is gone, or soon will be. */
const OFFERING = `${LIVES} AND NOT EXISTS (SELECT 1 FROM leases WHERE node_id = n.id AND expires_at BETWEEN 1 AND ${NOW})`
const LOOK = `SELECT ${NOW} AS at,
  (SELECT json_group_array(json_object('cell', name, 'nodeId', node_id, 'url', url, 'term', term, 'takenAt', taken_at,
    'zones', (SELECT value FROM secrets WHERE name = '${ZONES}' || node_id)))
    FROM leases WHERE ${NAMES_CELL} AND ${RUNS}) AS owners,
  (SELECT json_group_array(json_object('nodeId', n.id, 'url', n.url, 'cells', json(s.value)))
    FROM nodes n JOIN secrets s ON s.name = '${OFFER}' || n.id WHERE ${OFFERING}) AS offers,
  (SELECT json_group_array(json_array(substr(name, ${PLAN.length + 1}), value, created_at))
    FROM secrets s WHERE name LIKE '${PLAN}%' AND (value NOT LIKE '%${PINNED}'
      OR EXISTS (SELECT 1 FROM nodes n WHERE n.id || '${PINNED}' = s.value AND ${LIVES}))) AS plans`
const HOP_KEYS = `SELECT substr(name, ${HOP_KEY.length + 1}) AS id, value, created_at AS createdAt FROM secrets
  WHERE name LIKE '${HOP_KEY}%' ORDER BY created_at DESC, name DESC LIMIT 2`
/** Also rows of earlier processes at the same address: a node that crashes at each start would leave thousands. */
const FORGET = `DELETE FROM nodes WHERE seen_at < ${NOW} - ${FORGET_MS} OR (url = ?2 AND id <> ?1 AND NOT (${LIVES}))`
const FORGET_ZONES = `DELETE FROM secrets WHERE name LIKE '${ZONES}%' AND substr(name, ${ZONES.length + 1}) NOT IN (SELECT id FROM nodes)`
const FORGET_OFFERS = `DELETE FROM secrets WHERE name LIKE '${OFFER}%' AND substr(name, ${OFFER.length + 1}) NOT IN (SELECT id FROM nodes)`
const FORGET_WITNESSES = `DELETE FROM secrets WHERE name LIKE '${WITNESS}%' AND substr(name, ${WITNESS.length + 1}) NOT IN (SELECT id FROM nodes)`
const FORGET_PLANS = `DELETE FROM secrets WHERE name LIKE '${PLAN}%' AND replace(value, '${PINNED}', '') NOT IN (SELECT id FROM nodes)`
const PIN = `INSERT OR REPLACE INTO secrets (name, value, created_at) VALUES (?1, ?2 || '${PINNED}', ${NOW}) RETURNING name`
const OPEN_PLAN = `INSERT OR REPLACE INTO secrets (name, value, created_at) SELECT ?1, ?2, ${NOW} WHERE NOT EXISTS (
  SELECT 1 FROM secrets WHERE name LIKE '${PLAN}%' AND value NOT LIKE '%${PINNED}' AND created_at BETWEEN ${NOW} - ${PLAN_MS} AND ${NOW})
  RETURNING name`
/** The node ?2 has the lease ?1, so the plan is done. */
const END_PLAN = `DELETE FROM secrets WHERE name = ?3 AND value NOT LIKE '%${PINNED}'
  AND EXISTS (SELECT 1 FROM leases WHERE name = ?1 AND node_id = ?2 AND ${RUNS})`
const IS_RECENT = `created_at BETWEEN ${NOW} - ${LEASE_MS} AND ${NOW} + ${LEASE_MS}`
const WITNESSES = `SELECT substr(name, ${WITNESS.length + 1}) AS node, value, ${IS_RECENT} AS is_recent FROM secrets WHERE name LIKE '${WITNESS}%'`
const ATTEST = `INSERT INTO secrets (name, value, created_at) VALUES (?1, ?4, ${NOW}) ON CONFLICT (name) DO UPDATE SET created_at = ${NOW},
  value = CASE WHEN ${IS_RECENT} AND secrets.value IN (SELECT b.value FROM json_each(?2) b) THEN ?3 ELSE ?4 END`
const PUT_SECRET = `INSERT OR REPLACE INTO secrets (name, value, created_at) VALUES (?1, ?2, ${NOW})`
/** If another node is alive, the existing fingerprint stays. */
const AGREE = `INSERT INTO secrets (name, value, created_at) VALUES (?1, ?2, ${NOW}) ON CONFLICT (name) DO UPDATE SET value = ?2, created_at = ${NOW}
  WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE id <> ?3 AND ${LIVES})`

/**
 * The leases of the cells in a libSQL database. It has its own connection, so that it does not wait for the writes of calls. Its own writes run one at
 * a time.
 */
export class LibsqlLeases implements LeaseStore {
  private readonly client: Client
  /** As JSON, by node. */
  private readonly fingerprints = new Map<string, string>()
  private readonly writeLock = new WriteLock(DEADLINE_MS)

  constructor(address: DatabaseAddress) {
    this.client = serverClient(address, { deadlineMs: DEADLINE_MS, isKept: true })
  }

  async join(node: NodeFacts, fingerprints: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const rows = async (sql: string) => ((await this.run([one(sql)], 'read'))[0] ?? []).map((row) => Array.from(row))
    await refuseMoved(rows)
    await refuseWhileMoving(rows)
    await this.write(LEASE_TABLES.map((sql) => ({ sql, args: [] })))
    const given = Object.entries(fingerprints)
    const results = await this.write([
      beat(node),
      { sql: FORGET, args: [node.id, node.url] },
      ...[FORGET_ZONES, FORGET_OFFERS, FORGET_WITNESSES, FORGET_PLANS].map((sql) => one(sql)),
      ...(node.zones === null ? [] : [one(PUT_SECRET, ZONES + node.id, node.zones)]),
      ...given.map(([name, value]) => ({ sql: AGREE, args: [FINGERPRINT + name, value, node.id] })),
      { sql: `SELECT name, value FROM secrets WHERE name LIKE '${FINGERPRINT}%'`, args: [] },
    ])
    const agreed = new Map(results.at(-1)?.map((row) => [row['name'], row['value']]))
    const different = given.flatMap(([name, value]) => (agreed.get(FINGERPRINT + name) === value ? [] : [name]))
    if (different.length > 0) await this.leave(node.id)
    else this.fingerprints.set(node.id, JSON.stringify(fingerprints))
    return different
  }

  async look(): Promise<Sighting> {
    const [[seen] = [], keys = []] = await this.run([one(LOOK), one(HOP_KEYS)], 'read')
    const owners: CellOwner[] = listIn(seen, 'owners')
    const plans: [CellName, string, number][] = listIn(seen, 'plans')
    return {
      at: Number(seen?.['at']),
      owners: new Map(owners.map((owner) => [cellOf(owner.cell), { ...owner, cell: cellOf(owner.cell) }])),
      offers: listIn<LeaseCandidate>(seen, 'offers'),
      plans: new Map(plans.map(([cell, value, madeAt]) => [cell, planIn(value, madeAt)])),
      hopKeys: keys.map(hopKey),
    }
  }

  async beat(node: NodeFacts, offer?: readonly CellName[]): Promise<void> {
    await this.write([beat(node), ...(offer ? [one(PUT_SECRET, OFFER + node.id, JSON.stringify(offer))] : [])])
  }

  async take(cell: CellName, { id, url }: Pick<NodeFacts, 'id' | 'url'>, above = 0): Promise<number | null> {
    const given = this.fingerprints.get(id) ?? '{}'
    const lease = leaseOf(cell)
    const [[taken] = [], others = []] = await this.write([
      one(TAKE, id, url, given, lease, above),
      one(changed('?1'), given),
      one(END_PLAN, lease, id, PLAN + cell),
    ])
    if (others.length > 0) throw otherFingerprints(others.map(({ name }) => String(name)))
    return taken ? Number(taken['term']) : null
  }

  async renew(nodeId: string, held: readonly HeldCell[]): Promise<ReadonlySet<CellName>> {
    const leases = held.map(({ cell, term }) => [leaseOf(cell), term])
    const [renewed = []] = await this.write([one(RENEW, nodeId, JSON.stringify(leases))])
    return new Set(renewed.map(({ name }) => cellOf(String(name))))
  }

  async evict({ cell, term }: HeldCell): Promise<void> {
    await this.write([one(PUT_SECRET, EVICTED + leaseOf(cell), `${term}`)])
  }

  async release(nodeId: string, { cell, term }: HeldCell): Promise<void> {
    await this.write([one(RELEASE, nodeId, term, leaseOf(cell))])
  }

  async plan(cell: CellName, nodeId: string, isPinned: boolean): Promise<boolean> {
    const [[made] = []] = await this.write([one(isPinned ? PIN : OPEN_PLAN, PLAN + cell, nodeId)])
    return made !== undefined
  }

  async attest(...[nodeId, before, { kept, restarted }]: Parameters<LeaseStore['attest']>) {
    const attested = one(ATTEST, WITNESS + nodeId, JSON.stringify(before), kept, restarted)
    const [rows = []] = await this.write([one(WITNESSES), attested])
    return new Map(
      rows.map((row) => [String(row['node']), { text: String(row['value']), isRecent: row['is_recent'] === 1 }]),
    )
  }

  async addHopKey({ id, value }: Pick<StoredHopKey, 'id' | 'value'>): Promise<void> {
    const old = `DELETE FROM secrets WHERE name LIKE '${HOP_KEY}%' AND name NOT IN (SELECT '${HOP_KEY}' || id FROM (${HOP_KEYS}))`
    const added = `INSERT INTO secrets (name, value, created_at) VALUES (?1, ?2, ${NOW})`
    await this.write([one(added, HOP_KEY + id, value), one(old)])
  }

  async nodes(): Promise<readonly NodeState[]> {
    const sql = `SELECT id, url, version, skew_ms, started_at, seen_at, ${LIVES} AS is_live,
        (SELECT value FROM secrets WHERE name = '${ZONES}' || nodes.id) AS zones FROM nodes
      WHERE seen_at > ${NOW} - ${FORGET_MS} ORDER BY started_at DESC, id`
    const [rows = []] = await this.run([one(sql)], 'read')
    return rows.map((row) => ({
      ...{ id: String(row['id']), url: String(row['url']), version: String(row['version']) },
      ...{ skewMs: Number(row['skew_ms']), startedAt: Number(row['started_at']), seenAt: Number(row['seen_at']) },
      ...{ zones: textOrNull(row['zones']), isLive: Number(row['is_live']) === 1 },
    }))
  }

  async leave(nodeId: string): Promise<void> {
    await this.write([
      one('DELETE FROM nodes WHERE id = ?1', nodeId),
      one('DELETE FROM secrets WHERE name IN (?1, ?2, ?3)', ZONES + nodeId, OFFER + nodeId, WITNESS + nodeId),
    ])
  }

  async close(): Promise<void> {
    this.client.close()
  }

  private write(statements: InStatement[]): Promise<Row[][]> {
    return this.writeLock.take(() => this.run(statements, 'write'))
  }

  private async run(statements: InStatement[], mode: 'read' | 'write'): Promise<Row[][]> {
    return (await this.client.batch(statements, mode)).map(({ rows }) => rows)
  }
}

function one(sql: string, ...args: InValue[]) {
  return { sql, args }
}

function beat({ id, url, version, skewMs }: NodeFacts) {
  return one(BEAT, id, url, version, skewMs)
}

/** A list that a statement returned as JSON. */
function listIn<T>(row: Row | undefined, column: string): T[] {
  const list = row?.[column]
  return typeof list === 'string' ? JSON.parse(list) : []
}

function planIn(value: string, madeAt: number): Plan {
  const isPinned = value.endsWith(PINNED)
  return { nodeId: isPinned ? value.slice(0, -PINNED.length) : value, isPinned, madeAt }
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)

function hopKey(row: Row): StoredHopKey {
  return { id: String(row['id']), value: String(row['value']), createdAt: Number(row['createdAt']) }
}
