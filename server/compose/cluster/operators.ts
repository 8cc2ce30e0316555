import type { AccountDirectory } from '../../core/accounts/directory'
import type { Identity } from '../../core/accounts/identity'
import { type CellDirectory, MAIN_CELL } from '../../core/cluster/cells'
import type { AccountId } from '../../core/ids'
import { OperatorCells, type OtherCells } from '../../http/operator/cells/operator-cells'
import { otherBooks } from '../../http/operator/cells/other-books'
import { accountElsewhere } from '../../http/operator/cells/staff-elsewhere'
import { RELAY } from './calls/cell-messages'
import type { CellMembership } from './cells/cell-membership'
import type { NodeSurroundings } from './gateway-node'

interface Surroundings {
  readonly others?: OtherCells
  readonly cell?: Pick<CellMembership, 'name' | 'all'>
  readonly node?: Pick<NodeSurroundings, 'calls'>
}

/** How this gateway reaches the gateways of other cells; undefined with one cell. */
export function othersOf(
  { others, cell, node }: Surroundings,
  { cells: directory }: { readonly cells: CellDirectory },
): OtherCells | undefined {
  if (others || !node || !cell || cell.all.length === 1) return others
  return { own: cell.name, directory, calls: node.calls }
}

/** How billing reaches the accounts, books and relayer of other cells, and whether this node may still send from the relayer. */
export function billingBeside(others: OtherCells | undefined, node: Pick<NodeSurroundings, 'mayGrant'> | undefined) {
  const sending = node && { maySend: node.mayGrant }
  if (!others) return { ...sending }
  const { own, directory, calls } = others
  const isElsewhere = async (account: AccountId) => ((await directory.ofAccount(account)) ?? MAIN_CELL) !== own
  const askMain = (body: string, signal: AbortSignal) => calls.command(MAIN_CELL, RELAY, body, signal)
  const isMain = own === MAIN_CELL
  const beside = { isElsewhere, books: isMain ? otherBooks(calls) : null, askMain: isMain ? undefined : askMain }
  return { ...sending, beside }
}

interface Parts {
  readonly identity: Identity
  readonly stores: { readonly directory: AccountDirectory }
}

/** How the gateway of `main` reaches the other cells for operators; nothing in any other gateway. */
export function operatorsOfCells(others: OtherCells | undefined, { identity, stores: { directory: roles } }: Parts) {
  if (others?.own !== MAIN_CELL) return { cells: null, elsewhere: null }
  return { cells: new OperatorCells({ ...others, identity, roles }), elsewhere: accountElsewhere(roles, others.calls) }
}
