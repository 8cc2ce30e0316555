import { PREPARE_PATH } from '../../../adapters/cluster/hop-gate'
import type { CellName } from '../../../core/cluster/cells'
import type { Forwarding } from '../../../core/cluster/hop'
import type { LeaseCandidate, Sighting } from '../../../core/cluster/leases'
import { commandCall } from './cell-calls'

/** Waiting longer is useless: the node opens the cell when it takes it. */
const MAX_PREPARE_MS = 5_000

interface AskParts {
  readonly forwarding: Pick<Forwarding, 'send'>
  readonly sighting: () => Pick<Sighting, 'owners'> | null
  readonly now: () => number
}

/** Asks the next owner of a cell to prepare it. Resolves to false if it cannot or takes too long. Never rejects. */
export function askToPrepare({ forwarding, sighting, now }: AskParts) {
  return async (cell: CellName, { nodeId, url }: Pick<LeaseCandidate, 'nodeId' | 'url'>): Promise<boolean> => {
    const signal = AbortSignal.timeout(MAX_PREPARE_MS)
    const term = (sighting()?.owners.get(cell)?.term ?? 0) + 1
    const request = new Request(`http://owner.internal${PREPARE_PATH}`, { method: 'POST', signal })
    const answer = await forwarding.send(request, { cell, nodeId, url, term }, commandCall(now()))
    await answer?.body?.cancel()
    return answer?.ok ?? false
  }
}
