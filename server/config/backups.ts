import { createHmac } from 'node:crypto'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock'
import { ConfigError } from './config-error'

/** Copies of the gateway's data. */
export interface BackupSettings {
  /** Where scheduled copies go: a folder, or `s3://bucket/prefix`. Null: there are no scheduled copies. */
  readonly to: string | null
  readonly everyMs: number
  /** How many scheduled copies stay. */
  readonly keep: number
  /** Null if no store is configured. */
  readonly access: StoreAccess | null
  /** The settings with secrets that are set. A copy does not contain them. */
  readonly secrets: readonly string[]
  /** Shows whether a SECRET_KEY is that of a copy, without revealing it. */
  readonly secretMark: string
}

/** How to sign in to an S3-compatible store. */
interface StoreAccess {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | null
  readonly endpoint: string | null
  readonly region: string | null
}

/** Settings whose values a new machine needs and no copy has. */
const SECRETS = [
  'SECRET_KEY',
  'SEALING_KEYS',
  'SMTP_URL',
  'BRAVE_API_KEY',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'PAYMENTS_SECRET',
  'PAYMENTS_EVM_RELAYER_KEY',
  'PAYMENTS_FACILITATOR_AUTHORIZATION',
  'UPSTREAM_WALLET_KEY',
  'X_CLIENT_SECRET',
  'METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'AWS_SECRET_ACCESS_KEY',
]
const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }
const MIN_EVERY_MS = 5 * MINUTE_MS
const MARK_LENGTH = 16

type Environment = Readonly<Record<string, string | undefined>>

/** Reads `BACKUP_TO`, `BACKUP_EVERY`, `BACKUP_KEEP` and the store's standard variables. */
export function backupSettings(environment: Environment, secretKey: string): BackupSettings {
  const read = reader(environment)
  const to = read('BACKUP_TO')
  const access = storeAccess(environment)
  if (to?.startsWith('s3:') && !access)
    throw new ConfigError('BACKUP_TO is a bucket, so AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set')
  const keep = read('BACKUP_KEEP') ?? '7'
  if (!/^[1-9]\d{0,3}$/.test(keep))
    throw new ConfigError(`BACKUP_KEEP must be an integer from 1 to 9999, such as 7, not "${keep}"`)
  return {
    to,
    everyMs: interval(read('BACKUP_EVERY') ?? '24h'),
    keep: Number(keep),
    access,
    secrets: SECRETS.filter((name) => name === 'SECRET_KEY' || read(name) !== null).concat(
      Object.keys(environment).filter((name) => /^UPSTREAM_/.test(name) && !SECRETS.includes(name) && read(name)),
    ),
    secretMark: secretMark(secretKey),
  }
}

/** The access to an S3-compatible store, by the variables of Amazon's own tools. Null if no key is set. */
export function storeAccess(environment: Environment): StoreAccess | null {
  const read = reader(environment)
  const [accessKeyId, secretAccessKey] = [read('AWS_ACCESS_KEY_ID'), read('AWS_SECRET_ACCESS_KEY')]
  if (accessKeyId === null || secretAccessKey === null) return null
  const endpoint = read('AWS_ENDPOINT_URL_S3') ?? read('AWS_ENDPOINT_URL')
  if (endpoint !== null && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new ConfigError(`AWS_ENDPOINT_URL must be a URL such as https://s3.example.com, not "${endpoint}"`)
  const region = read('AWS_REGION') ?? read('AWS_DEFAULT_REGION')
  return { accessKeyId, secretAccessKey, sessionToken: read('AWS_SESSION_TOKEN'), endpoint, region }
}

/** Tells one SECRET_KEY from another, without revealing it. */
export function secretMark(secretKey: string): string {
  return createHmac('sha256', secretKey).update('gateway backup').digest('hex').slice(0, MARK_LENGTH)
}

function reader(environment: Environment) {
  return (name: string): string | null => environment[name]?.trim() || null
}

function interval(text: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? []
  const ms = Number(count) * (UNITS[unit] ?? Number.NaN)
  if (!(ms >= MIN_EVERY_MS))
    throw new ConfigError(`BACKUP_EVERY must be a time such as 30m, 6h or 1d, at least 5m, not "${text}"`)
  return ms
}
