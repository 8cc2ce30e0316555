import { ACCOUNTS } from './accounts'
import { APIS } from './apis'
import { BACKUPS } from './backups'
import { CARDS } from './card-payments'
import { CHAIN_PACE } from './chain-defaults'
import { DATA } from './data'
import { EVM } from './evm-payments'
import { LISTENING } from './listening'
import { MAIL } from './mail'
import { MODELS } from './model-settings'
import { PAYMENTS } from './payments'
import { RETENTION } from './retention'
import type { Setting, SettingGroup } from './setting'
import { SOCIAL } from './social'
import { OBSERVING } from './telemetry'
import { TRACES } from './traces'
import { UPSTREAM_WALLET } from './upstream-wallet'
import { WEBHOOKS } from './webhooks'
import { SEARCH } from './websearch'

/** All settings, in the order of docs/configuration.md. To add one, add it to its group; to add a group, add a line here. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  LISTENING,
  DATA,
  ACCOUNTS,
  MAIL,
  MODELS,
  SEARCH,
  SOCIAL,
  PAYMENTS,
  EVM,
  CHAIN_PACE,
  CARDS,
  APIS,
  UPSTREAM_WALLET,
  WEBHOOKS,
  BACKUPS,
  RETENTION,
  OBSERVING,
  TRACES,
]

export const ALL_SETTINGS: ReadonlyMap<string, Setting> = new Map(
  SETTING_GROUPS.flatMap(({ settings }) => Object.entries(settings)),
)
