import type { ControlDatabase } from '../../../adapters/stores/libsql/shared-database'
import type { Config } from '../../../config'
import type { CellMessages } from '../../../core/cluster/cell-messages'
import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import type { ControlChanges } from '../../../core/cluster/control-changes'
import type { DirectoryWitness } from '../../../core/cluster/directory-witness'
import type { BytesInProgress } from '../../../core/limits/bytes-in-progress'
import { micros } from '../../../core/money'

/** The place of a gateway among those of several cells (ADR 52). */
export interface CellPlace {
  readonly name: CellName
  /** All cells, `main` first. */
  readonly all: readonly CellName[]
  /** Tells the others that the control database changed, and this one when they change it. */
  readonly changes: ControlChanges
  readonly messages: CellMessages
  /** Of the process. Null: each cell is asked what the directory lacks of it. */
  readonly witness: Pick<DirectoryWitness, 'since' | 'vouches'> | null
  /** What request bodies may take in memory, in all gateways of the process. */
  readonly bodies: BytesInProgress
  /** Where the accounts are of a cell other than `main`, whose gateway uses the control database and does not own it. */
  readonly apart: {
    readonly url: string
    readonly authToken: string | null
    /** Of the process, for all its cells. Closing it is not the gateway's. */
    readonly control: ControlDatabase
  } | null
}

/** The part of a cap that this cell may use by itself, so that all together never exceed it. Cells beyond a small cap get none. */
export function shareOf(place: Pick<CellPlace, 'name' | 'all'> | undefined): (cap: number) => number {
  if (!place) return (cap) => cap
  const [at, count] = [place.all.indexOf(place.name), place.all.length]
  return (cap) => Math.floor(cap / count) + (at < cap % count ? 1 : 0)
}

/**
 * The part of a brake on strangers that this cell allows by itself: `main`, where most of them are, half of it, the others the rest, and each at least
 * one. So all together allow no more than one gateway alone, unless there are more cells than that.
 */
export function brakeShareOf(place: Pick<CellPlace, 'name' | 'all'> | undefined): (max: number) => number {
  if (!place || place.all.length === 1) return (max) => max
  const others = place.all.length - 1
  if (place.name === MAIN_CELL) return (max) => Math.ceil(max / 2)
  return (max) => Math.max(1, Math.floor(Math.floor(max / 2) / others))
}

/** The settings of one cell's gateway: its database, and its share of what counts per gateway. */
export function configOf(config: Config, place: CellPlace | undefined): Config {
  if (!place) return config
  const share = shareOf(place)
  const { wallet } = config.apis
  const maxima = wallet && {
    inAll: micros(share(wallet.maxima.inAll)),
    perPayee: micros(share(wallet.maxima.perPayee)),
  }
  return {
    ...config,
    ...(place.apart && {
      databaseUrl: place.apart.url,
      databaseAuthToken: place.apart.authToken,
      backup: { ...config.backup, to: null },
    }),
    anonymousRpm: brakeShareOf(place)(config.anonymousRpm),
    apis: { ...config.apis, wallet: wallet && maxima && { ...wallet, maxima } },
  }
}

/** Whether this gateway owns the control database. */
export function ownsControl(place: Pick<CellPlace, 'name'> | undefined): boolean {
  return place === undefined || place.name === MAIN_CELL
}
