import { ACCOUNTS } from '../accounts'
import { APIS } from '../apis'
import { BACKUPS } from '../backups'
import { BRAND } from '../brand'
import { DATA } from '../data'
import { LISTENING } from '../listening'
import { MAIL } from '../mail'
import { MODELS } from '../model-settings'
import { CARDS } from '../payments/card-payments'
import { CHAIN_PACE } from '../payments/chain-defaults'
import { EVM } from '../payments/evm-payments'
import { PAYMENTS } from '../payments/payments'
import { UPSTREAM_WALLET } from '../payments/upstream-wallet'
import { RETENTION } from '../retention'
import { SIGN_IN } from '../sign-in'
import { SOCIAL } from '../social'
import { OBSERVING } from '../telemetry'
import { TRACES } from '../traces'
import { WEBHOOKS } from '../webhooks'
import { SEARCH } from '../websearch'
import { WORKERS } from '../workers'
import type { Setting, SettingGroup } from './setting'

/** All settings, in the order of docs/configuration.md. To add one, add it to its group; to add a group, add a line here. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  LISTENING,
  WORKERS,
  DATA,
  ACCOUNTS,
  SIGN_IN,
  BRAND,
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
