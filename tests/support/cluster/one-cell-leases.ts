import { type CellName, MAIN_CELL } from '../../../server/core/cluster/cells'
import type { LeaseStore, NodeFacts } from '../../../server/core/cluster/leases'

/** The leases as seen by who knows one cell. */
export function oneCellLeases(leases: LeaseStore, cell: CellName = MAIN_CELL) {
  return {
    join: leases.join.bind(leases),
    beat: leases.beat.bind(leases),
    nodes: leases.nodes.bind(leases),
    leave: leases.leave.bind(leases),
    addHopKey: leases.addHopKey.bind(leases),
    async look() {
      const sighting = await leases.look()
      return { ...sighting, owner: sighting.owners.get(cell) ?? null }
    },
    take: (node: Pick<NodeFacts, 'id' | 'url'>) => leases.take(cell, node),
    renew: async (nodeId: string, term: number) => (await leases.renew(nodeId, [{ cell, term }])).has(cell),
    release: (nodeId: string, term: number) => leases.release(nodeId, { cell, term }),
  }
}
