import type { ControlDatabase } from '../../../adapters/stores/libsql/shared-database'
import type { Config } from '../../../config'
import type { CellMessages } from '../../../core/cluster/cell-messages'
import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import type { ControlChanges } from '../../../core/cluster/control-changes'
import type { DirectoryWitness } from '../../../core/cluster/directory-witness'
import type { BytesInProgress } from '../../../core/limits/bytes-in-progress'
import { micros } from '../../../core/money'

/** Which of several cells a gateway serves, and what it shares with the others (ADR 52). */
export interface CellMembership {
  readonly name: CellName
  /** All cells, `main` first. */
  readonly all: readonly CellName[]
  /** Announces changes of the control database to the other gateways, and theirs to this one. */
  readonly changes: ControlChanges
  readonly messages: CellMessages
  /** The witness of the process. Null: every cell must confirm that the directory has its records. */
  readonly witness: Pick<DirectoryWitness, 'since' | 'vouches'> | null
  /** The memory for request bodies, shared by all gateways of the process. */
  readonly bodies: BytesInProgress
  /** The database of the accounts of a cell other than `main`. Its gateway uses the control database without owning it. */
  readonly apart: {
    readonly url: string
    readonly authToken: string | null
    /** Shared by all cells of the process, which closes it. */
    readonly control: ControlDatabase
  } | null
}

/** The share of a cap that this cell may use, so that all cells together never exceed it. With a small cap, some cells get none. */
export function shareOf(membership: Pick<CellMembership, 'name' | 'all'> | undefined): (cap: number) => number {
  if (!membership) return (cap) => cap
  const [at, count] = [membership.all.indexOf(membership.name), membership.all.length]
  return (cap) => Math.floor(cap / count) + (at < cap % count ? 1 : 0)
}

/**
 * The share of a limit on anonymous callers that this cell allows: half for `main`, which gets most of them; the other cells share the rest, each at
 * least one. So all cells together allow no more than a single gateway, unless there are more cells than the limit allows calls.
 */
export function brakeShareOf(membership: Pick<CellMembership, 'name' | 'all'> | undefined): (max: number) => number {
  if (!membership || membership.all.length === 1) return (max) => max
  const others = membership.all.length - 1
  if (membership.name === MAIN_CELL) return (max) => Math.ceil(max / 2)
  return (max) => Math.max(1, Math.floor(Math.floor(max / 2) / others))
}

/** The settings of one cell's gateway: its database, and its share of limits that count per gateway. */
export function configOf(config: Config, membership: CellMembership | undefined): Config {
  if (!membership) return config
  const share = shareOf(membership)
  const { wallet } = config.apis
  const maxima = wallet && {
    inAll: micros(share(wallet.maxima.inAll)),
    perPayee: micros(share(wallet.maxima.perPayee)),
  }
  return {
    ...config,
    ...(membership.apart && {
      databaseUrl: membership.apart.url,
      databaseAuthToken: membership.apart.authToken,
      backup: { ...config.backup, to: null },
    }),
    anonymousRpm: brakeShareOf(membership)(config.anonymousRpm),
    apis: { ...config.apis, wallet: wallet && maxima && { ...wallet, maxima } },
  }
}

/** Whether this gateway owns the control database. */
export function ownsControl(membership: Pick<CellMembership, 'name'> | undefined): boolean {
  return membership === undefined || membership.name === MAIN_CELL
}
