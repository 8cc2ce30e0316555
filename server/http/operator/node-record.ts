import { isoTime } from '../../core/clock'
import type { NodeState, Sighting } from '../../core/cluster/leases'

/** A node as operators see it. */
export interface OneNode {
  readonly id: string
  readonly url: string
  readonly version: string
  readonly role: 'owner' | 'standby' | 'gone'
  /** Since when it has this role. */
  readonly since: string
  readonly seen_ms_ago: number
  /** How far its clock is ahead of the database's. */
  readonly clock_ms: number
}

/** Many nodes on one database: who owns the accounts. */
export interface NodeReport {
  readonly nodes: readonly OneNode[]
}

export function nodeReport({ owner, at }: Sighting, nodes: readonly NodeState[]): NodeReport {
  return {
    nodes: nodes.map((node) => {
      const isOwner = node.id === owner?.nodeId
      const role = isOwner ? 'owner' : node.isLive ? 'standby' : 'gone'
      const since = isOwner ? owner.takenAt : node.isLive ? node.startedAt : node.seenAt
      const { id, url, version, skewMs } = node
      return { id, url, version, role, since: isoTime(since), seen_ms_ago: at - node.seenAt, clock_ms: skewMs }
    }),
  }
}
