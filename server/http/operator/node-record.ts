import type { Static } from '@sinclair/typebox'
import { isoTime } from '../../core/clock'
import type { NodeState, Sighting } from '../../core/cluster/leases'
import type { NODE } from '../openapi/node-schema'

export type OneNode = Static<typeof NODE>

/** Many nodes on one database: who owns the accounts. */
export interface NodeReport {
  readonly nodes: readonly OneNode[]
}

export function nodeReport({ owner, at }: Sighting, nodes: readonly NodeState[]): NodeReport {
  const zonesOf = ({ zones }: NodeState) =>
    !owner || owner.zones === null || zones === null ? null : zones === owner.zones ? 'same' : 'different'
  return {
    nodes: nodes.map((node) => {
      const isOwner = node.id === owner?.nodeId
      const role = isOwner ? 'owner' : node.isLive ? 'standby' : 'gone'
      const since = isOwner ? owner.takenAt : node.isLive ? node.startedAt : node.seenAt
      const { id, url, version, skewMs } = node
      return {
        id,
        url,
        version,
        role,
        since: isoTime(since),
        seen_ms_ago: at - node.seenAt,
        clock_ms: skewMs,
        time_zones: zonesOf(node),
      }
    }),
  }
}
