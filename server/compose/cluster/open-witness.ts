import type { CellMessages } from '../../core/cluster/cell-messages'
import type { CellName } from '../../core/cluster/cells'
import { DirectoryWitness, type WitnessStore } from '../../core/cluster/directory-witness'
import { startWitness } from '../../jobs/following'
import type { Log } from '../../log'
import { requestSync } from './cells/directory-sync'

interface Needs {
  readonly nodeId: string
  readonly cells: readonly CellName[]
  readonly leases: WitnessStore
  readonly messages: CellMessages
  readonly log: Pick<Log, 'error'>
}

/** The witness of this node. Close it before the node leaves. */
export function openWitness({ nodeId, cells, leases, messages, log }: Needs) {
  const onLoss = () =>
    log.error('the control database lost writes of this node; every cell is resending its records', {})
  const witness = new DirectoryWitness({ nodeId, cells, store: leases, ask: requestSync(messages), onLoss })
  const looking = startWitness(witness)
  return Object.assign(witness, { close: () => looking.close() })
}
