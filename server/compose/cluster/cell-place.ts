import type { ControlDatabase } from '../../adapters/stores/libsql/shared-database'
import type { Config } from '../../config'
import type { CellMessages } from '../../core/cluster/cell-messages'
import { type CellName, MAIN_CELL } from '../../core/cluster/cells'
import type { ControlChanges } from '../../core/cluster/control-changes'
import { micros } from '../../core/money'

/** The place of a gateway among those of several cells (ADR 52). */
export interface CellPlace {
  readonly name: CellName
  /** All cells, `main` first. */
  readonly all: readonly CellName[]
  /** Tells the others that the control database changed, and this one when they change it. */
  readonly changes: ControlChanges
  readonly messages: CellMessages
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
    anonymousRpm: share(config.anonymousRpm),
    apis: { ...config.apis, wallet: wallet && maxima && { ...wallet, maxima } },
  }
}

/** Whether this gateway owns the control database. */
export function ownsControl(place: Pick<CellPlace, 'name'> | undefined): boolean {
  return place === undefined || place.name === MAIN_CELL
}
