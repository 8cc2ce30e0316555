import type { Static } from '@sinclair/typebox'
import { isoTime } from '../../../core/clock'
import { MAIN_CELL } from '../../../core/cluster/cells'
import type { NodeState, Sighting } from '../../../core/cluster/leases'
import type { NODE } from '../../openapi/node-schema'

export type OneNode = Static<typeof NODE>

/** Many nodes on one database: which cells each owns. */
export interface NodeReport {
  readonly nodes: readonly OneNode[]
}

export function nodeReport({ owners, at }: Pick<Sighting, 'owners' | 'at'>, nodes: readonly NodeState[]): NodeReport {
  const main = owners.get(MAIN_CELL)
  const zonesOf = ({ zones }: NodeState) =>
    !main || main.zones === null || zones === null ? null : zones === main.zones ? 'same' : 'different'
  return {
    nodes: nodes.map((node) => {
      const owned = [...owners.values()].filter(({ nodeId }) => nodeId === node.id)
      const role = owned.length > 0 ? 'owner' : node.isLive ? 'standby' : 'gone'
      const takenAt = owned.map((owner) => owner.takenAt)
      const since = role === 'owner' ? Math.min(...takenAt) : role === 'standby' ? node.startedAt : node.seenAt
      const { id, url, version, skewMs } = node
      return {
        id,
        url,
        version,
        role,
        cells: owned.map(({ cell }) => cell).sort(byName),
        since: isoTime(since),
        seen_ms_ago: at - node.seenAt,
        clock_ms: skewMs,
        time_zones: zonesOf(node),
      }
    }),
  }
}

/** `main` first, then by number. */
function byName(a: string, b: string): number {
  return Number(b === MAIN_CELL) - Number(a === MAIN_CELL) || a.localeCompare(b, 'en', { numeric: true })
}
