import { type Client, createClient, type InStatement, type InValue, type Row } from '@libsql/client'
import {
  type HopKey,
  LEASE_MS,
  type LeaseStore,
  type NodeFacts,
  type NodeState,
  otherFingerprints,
  type Sighting,
} from '../../../../core/cluster/leases'
import { boundedFetch } from '../driver/bounded-fetch'
import { refuseMoved, refuseWhileMoving } from '../move/standing'
import { CELL, LEASE_TABLES, LIVES, NOW, RUNS } from './lease-tables'
import { WriteTurns } from './write-turns'

/** Less than the time between two renewals: a request that hangs must not use up the lease. */
const DEADLINE_MS = 2_500
/** Nodes that were not seen for an hour are of no interest any more. */
const FORGET_MS = 60 * 60_000
const HOP_KEY = 'hop/'
const FINGERPRINT = 'equal/'
/** The rules of time zones of each node, which may differ. */
const ZONES = 'zones/'

/** The names of the fingerprints, given as JSON, that are others by now: the node was away when the other ones were started anew. */
const changed = (given: string) => `SELECT substr(s.name, ${FINGERPRINT.length + 1}) AS name FROM secrets s
  JOIN json_each(${given}) g ON s.name = '${FINGERPRINT}' || g.key WHERE s.value <> g.value`
const TAKE = `INSERT INTO leases (name, node_id, url, term, taken_at, expires_at)
  SELECT '${CELL}', ?1, ?2, 1, ${NOW}, ${NOW} + ${LEASE_MS} WHERE NOT EXISTS (${changed('?3')})
  ON CONFLICT (name) DO UPDATE SET node_id = ?1, url = ?2, term = term + 1, taken_at = ${NOW}, expires_at = ${NOW} + ${LEASE_MS}
  WHERE NOT (${RUNS}) RETURNING term`
/** A renewal that arrives behind the release must not undo it. */
const RENEW = `UPDATE leases SET expires_at = ${NOW} + ${LEASE_MS} WHERE name = '${CELL}' AND node_id = ?1 AND term = ?2 AND expires_at > 0`
const RELEASE = `UPDATE leases SET expires_at = 0 WHERE name = '${CELL}' AND node_id = ?1 AND term = ?2`
const BEAT = `INSERT INTO nodes (id, url, version, skew_ms, started_at, seen_at) VALUES (?1, ?2, ?3, ?4, ${NOW}, ${NOW})
  ON CONFLICT (id) DO UPDATE SET skew_ms = ?4, seen_at = ${NOW}`
const LOOK = `SELECT ${NOW} AS at, (SELECT json_object('nodeId', node_id, 'url', url, 'term', term, 'takenAt', taken_at,
    'zones', (SELECT value FROM secrets WHERE name = '${ZONES}' || node_id))
  FROM leases WHERE name = '${CELL}' AND ${RUNS}) AS owner`
const HOP_KEYS = `SELECT substr(name, ${HOP_KEY.length + 1}) AS id, value, created_at AS createdAt FROM secrets
  WHERE name LIKE '${HOP_KEY}%' ORDER BY created_at DESC, name DESC LIMIT 2`
/** Also what earlier processes left at the same address: a node that crashes at each start would leave thousands. */
const FORGET = `DELETE FROM nodes WHERE seen_at < ${NOW} - ${FORGET_MS} OR (url = ?2 AND id <> ?1 AND NOT (${LIVES}))`
const FORGET_ZONES = `DELETE FROM secrets WHERE name LIKE '${ZONES}%' AND substr(name, ${ZONES.length + 1}) NOT IN (SELECT id FROM nodes)`
const SAY_ZONES = `INSERT OR REPLACE INTO secrets (name, value, created_at) VALUES (?1, ?2, ${NOW})`
/** With another node that lives, its fingerprint stays. */
const AGREE = `INSERT INTO secrets (name, value, created_at) VALUES (?1, ?2, ${NOW}) ON CONFLICT (name) DO UPDATE SET value = ?2, created_at = ${NOW}
  WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE id <> ?3 AND ${LIVES})`

/**
 * The lease of the cell in a libSQL database, over a connection of its own: it must not wait behind the writes of calls. Its own writes wait
 * for each other.
 */
export class LibsqlLeases implements LeaseStore {
  private readonly client: Client
  /** As JSON, by node. */
  private readonly fingerprints = new Map<string, string>()
  private readonly turns = new WriteTurns(DEADLINE_MS)

  constructor({ url, authToken }: { readonly url: string; readonly authToken: string | null }) {
    const fetch = boundedFetch({ deadlineMs: () => DEADLINE_MS })
    this.client = createClient({ url, ...(authToken && { authToken }), fetch })
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
      { sql: FORGET_ZONES, args: [] },
      ...(node.zones === null ? [] : [one(SAY_ZONES, ZONES + node.id, node.zones)]),
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
    const owner = seen?.['owner']
    return {
      at: Number(seen?.['at']),
      owner: typeof owner === 'string' ? JSON.parse(owner) : null,
      hopKeys: keys.map(hopKey),
    }
  }

  async beat(node: NodeFacts): Promise<void> {
    await this.write([beat(node)])
  }

  async take({ id, url }: Pick<NodeFacts, 'id' | 'url'>): Promise<number | null> {
    const given = this.fingerprints.get(id) ?? '{}'
    const [[taken] = [], others = []] = await this.write([one(TAKE, id, url, given), one(changed('?1'), given)])
    if (others.length > 0) throw otherFingerprints(others.map(({ name }) => String(name)))
    return taken ? Number(taken['term']) : null
  }

  async renew(nodeId: string, term: number): Promise<boolean> {
    const [[renewed] = []] = await this.write([one(`${RENEW} RETURNING term`, nodeId, term)])
    return renewed !== undefined
  }

  async release(nodeId: string, term: number): Promise<void> {
    await this.write([one(RELEASE, nodeId, term)])
  }

  async addHopKey({ id, value }: Pick<HopKey, 'id' | 'value'>): Promise<void> {
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
      one('DELETE FROM secrets WHERE name = ?1', ZONES + nodeId),
    ])
  }

  async close(): Promise<void> {
    this.client.close()
  }

  private write(statements: InStatement[]): Promise<Row[][]> {
    return this.turns.take(() => this.run(statements, 'write'))
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

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)

function hopKey(row: Row): HopKey {
  return { id: String(row['id']), value: String(row['value']), createdAt: Number(row['createdAt']) }
}
