import { resolve } from 'node:path'
import { type AccountsSettings, accountsSettings } from './config/accounts'
import { type ApiSettings, apiSettings, UPSTREAM_PREFIX } from './config/apis'
import { BACKUPS, type BackupSettings, backupSettings, litestreamSettings, storeAccess } from './config/backups'
import { type BrandSettings, brandSettings } from './config/brand'
import { collecting, type OnMistake } from './config/config-error'
import {
  DATA,
  type DataSettings,
  databaseUrl,
  dataSettings,
  logCopy,
  missingSecretFile,
  sealingKeysOf,
} from './config/data'
import { LISTENING, type ListeningSettings, listeningSettings } from './config/listening'
import { type MailConfig, mailConfig } from './config/mail'
import { type ModelSettings, modelSettings } from './config/model-settings'
import { type CardSettings, cardSettings } from './config/payments/card-payments'
import { type PaymentSettings, paymentSettings } from './config/payments/payments'
import { retentionDays } from './config/retention'
import { ALL_SETTINGS } from './config/schema/all-settings'
import type { Read } from './config/schema/setting'
import { type SignInSettings, signInSettings } from './config/sign-in'
import { type SocialConfig, socialConfig } from './config/social'
import { type Environment, type GivenSettings, givenSettings, isOwnSecret } from './config/sources/given-settings'
import { type MetricsSettings, metricsSettings, OBSERVING } from './config/telemetry'
import { type TraceSettings, traceSettings } from './config/traces'
import { type WebhookSettings, webhookSettings } from './config/webhooks'
import { type WebsearchConfig, websearchConfig } from './config/websearch'
import {
  OF_WORKER,
  remoteWorkerSettings,
  type SettingTexts,
  settingsForWorkers,
  type WorkerSettings,
  workerRead,
  workerSettings,
} from './config/workers'
import { isLoopbackHost } from './core/credentials/address'
import type { RetentionDays } from './core/usage/retention'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
/** `json`: one JSON object per line, for collectors of logs. */
export type LogFormat = 'text' | 'json'

/** The gateway's configuration, read from environment variables and the configuration file (docs/configuration.md). */
export interface Config
  extends ListeningSettings,
    WorkerSettings,
    DataSettings,
    AccountsSettings,
    SignInSettings,
    BrandSettings {
  readonly dataDir: string
  /** Whether the first account becomes operator without the one-time token if it signs up on this machine. */
  readonly firstAccountIsOperator: boolean
  readonly websearch: WebsearchConfig
  readonly payments: PaymentSettings
  readonly social: SocialConfig
  readonly cards: CardSettings | null
  readonly mail: MailConfig | null
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  /** The file of the log; null for stderr. */
  readonly logFile: string | null
  /** Null if there are no metrics. */
  readonly metrics: MetricsSettings | null
  /** Null while traces are off. */
  readonly traces: TraceSettings | null
  readonly production: boolean
  readonly models: ModelSettings
  readonly apis: ApiSettings
  readonly backup: BackupSettings
  /** How many days old rows are kept; 0 keeps them. */
  readonly retention: RetentionDays
  readonly webhooks: WebhookSettings
  /** What workers need of these settings. */
  readonly forWorkers: SettingTexts
  /** Unsafe settings that do not stop the start. */
  readonly warnings: readonly string[]
}

/** The format of lines that are written before the settings are read, or because they are wrong. */
export function logFormat(environment: Environment = process.env): LogFormat {
  return environment['LOG_FORMAT']?.trim() === 'json' ? 'json' : 'text'
}

/** The absolute path of the folder with all of the gateway's data. */
export function dataFolder(environment: Environment = process.env): string {
  return resolve(environment['DATA_DIR']?.trim() || 'data')
}

/** Reads and validates all settings. Throws `ConfigError` for the first invalid one. `overrides` take precedence. */
export function readConfig(overrides: Environment = {}, inherited: Environment = process.env): Config {
  const environment = { ...inherited, ...overrides }
  return validConfig(givenNow(environment), dataFolder(environment))
}

/** All settings that are given now, by the environment and files. A file that is a pipe can be read once. */
export function givenNow(environment: Environment = process.env): GivenSettings {
  return givenSettings(environment, dataFolder(environment))
}

/** The problems of settings, for their author. */
interface ExaminedConfig {
  readonly problems: readonly string[]
  /** Unsafe settings that do not stop the start. */
  readonly warnings: readonly string[]
  /** The values that a start adds. */
  readonly notes: readonly string[]
  /** The configuration file; null if there is none. */
  readonly file: string | null
  /** Null if they cannot be read. */
  readonly models: ModelSettings | null
  /** Null if there are problems. */
  readonly config: Config | null
}

/** All that is wrong, not only the first: each setting by itself, and then what they are together. */
export function examinedConfig(environment: Environment): ExaminedConfig {
  const problems = new Set<string>()
  const onMistake: OnMistake = ({ message }) => void problems.add(message)
  const notes: string[] = []
  let given: GivenSettings | null = null
  let models: ModelSettings | null = null
  let config: Config | null = null
  collecting(onMistake, () => {
    const dataDir = dataFolder(environment)
    const found = givenSettings(environment, dataDir, onMistake)
    given = found
    for (const setting of ALL_SETTINGS.values()) collecting(onMistake, () => void setting.of(found.read))
    collecting(onMistake, () => {
      models = modelSettings(found, false)
    })
    const file = missingSecretFile(found.read, dataDir)
    if (file !== null) notes.push(`SECRET_KEY is not set: the first "up" creates it in ${file}`)
    const secret = 'a secret that the start will make'
    const read: Read = (name) => found.read(name) ?? (name === 'SECRET_KEY' && file !== null ? secret : null)
    config = validConfig({ ...found, read }, dataDir)
  })
  const { warnings = [], file = null } = given ?? ({} as Partial<GivenSettings>)
  return { problems: [...problems], warnings, notes, file, models, config: problems.size === 0 ? config : null }
}

/** The settings of what works without the others, on a machine that may not have them yet: where data and its copies are. */
export function storageSettings(environment: Environment = process.env) {
  const dataDir = dataFolder(environment)
  const given = givenNow(environment)
  return {
    dataDir,
    databaseUrl: databaseUrl(given.read, dataDir),
    databaseAuthToken: DATA.settings.DATABASE_AUTH_TOKEN.of(given.read),
    isSyncPromised: DATA.settings.DATABASE_SYNC.of(given.read) === 'promised',
    backupTo: BACKUPS.settings.BACKUP_TO.of(given.read),
    access: storeAccess(given.read),
    litestream: litestreamSettings(given.read).program,
    secrets: givenSecrets(given),
    /** These need more settings than a copy does. */
    logCopy: () => logCopy(given.read, dataDir),
    sealingKeys: () => sealingKeysOf(given.read, dataDir),
  }
}

/** The names of the secrets that are set, which a copy of the data does not contain. */
function givenSecrets({ texts }: GivenSettings): readonly string[] {
  const names = Object.keys(texts).filter(isOwnSecret)
  return ['SECRET_KEY', ...names.filter((name) => name !== 'SECRET_KEY')]
}

/** Names the settings that have other values now than `before`, or none. Throws `ConfigError` if they cannot be read. */
export function changedSettings(before: Environment, now: Environment): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])]
  return names.filter((name) => ALL_SETTINGS.has(name) && before[name]?.trim() !== now[name]?.trim()).sort()
}

function logSettings(read: Read): Pick<Config, 'logLevel' | 'logFile' | 'logFormat'> {
  const { LOG_LEVEL, LOG_FILE, LOG_FORMAT } = OBSERVING.settings
  return { logLevel: LOG_LEVEL.of(read), logFile: LOG_FILE.of(read), logFormat: LOG_FORMAT.of(read) }
}

/** Validates the settings that are given. Throws `ConfigError` for the first invalid one. */
export function validConfig(given: GivenSettings, dataDir: string): Config {
  const { read, texts, warnings } = given
  const listening = listeningSettings(read)
  const { port, baseUrl, isLoopback } = listening
  const mode = LISTENING.settings.NODE_ENV.of(read)
  const production = mode === 'production'
  const data = dataSettings(read, dataDir, production)
  const payments = paymentSettings(read, { secretKey: data.secretKey, baseUrl, isLoopback, environment: mode })
  const social = socialConfig(read, production)
  return {
    ...listening,
    ...workerSettings(read),
    ...data,
    ...accountsSettings(read),
    ...signInSettings(read),
    ...brandSettings(read),
    dataDir,
    firstAccountIsOperator: isLoopback && isLoopbackHost(new URL(baseUrl).hostname) && !production,
    websearch: websearchConfig(read),
    payments,
    social,
    cards: cardSettings(read, production),
    ...logSettings(read),
    metrics: metricsSettings(read, port),
    traces: traceSettings(read),
    mail: mailConfig(read),
    production,
    models: modelSettings(given, production),
    apis: apiSettings(read, texts, production),
    backup: backupSettings(read, { secretKey: data.secretKey, secrets: givenSecrets(given) }),
    retention: retentionDays(read),
    webhooks: webhookSettings(read),
    forWorkers: settingsForWorkers(read, baseUrl),
    warnings,
  }
}

/** The settings of a worker, as those that it was pushed and its own say. Throws `ConfigError` if it cannot use them. */
export function workerConfig(pushed: SettingTexts, isLocal: boolean, environment: Environment = process.env): Config {
  const given = givenNow(environment)
  const read = workerRead(given.read, pushed, isLocal)
  return validConfig({ ...given, read, texts: {} }, dataFolder(environment))
}

/** What a worker reads before it has a primary: `remote` says where one is, of another machine. Throws `ConfigError`. */
export function settingsAtStart(environment: Environment = process.env) {
  const { read } = givenNow(environment)
  return { ...logSettings(read), remote: () => remoteWorkerSettings(read) }
}

/** The environment of a worker of this machine, on the port of this process: without settings and secrets that it has from its primary. */
export function workerEnvironment(
  { port, workers }: Pick<Config, 'port' | 'workers'>,
  environment: Environment = process.env,
): Environment {
  const isPushed = (name: string) =>
    !OF_WORKER.has(name) && (ALL_SETTINGS.has(name) || name.startsWith(UPSTREAM_PREFIX))
  const kept = Object.entries(environment).filter(([name]) => !isPushed(name) && !isPushed(name.replace(/_FILE$/, '')))
  return { ...Object.fromEntries(kept), PORT: String(port), WORKERS: String(workers) }
}

/** The environment of a program of others: what it needs of ours, which has secrets, and these. */
export function environmentOf(needed: RegExp, more: Environment): Environment {
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => needed.test(name))), ...more }
}
