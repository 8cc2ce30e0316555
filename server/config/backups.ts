import { createHmac } from 'node:crypto'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock'
import { ConfigError } from './config-error'
import { flag, group, httpUrl, integer, invalidSetting, type Read, setting, text } from './schema/setting'

/** Copies of the gateway's data. */
export interface BackupSettings {
  /** Where scheduled copies go: a folder, or `s3://bucket/prefix`. Null: there are no scheduled copies. */
  readonly to: string | null
  readonly everyMs: number
  /** How many scheduled copies stay. */
  readonly keep: number
  /** Whether the data of an older gateway is copied before it is upgraded. */
  readonly beforeUpgrade: boolean
  /** Null if no store is configured. */
  readonly access: StoreAccess | null
  readonly litestream: LitestreamSettings
  /** The settings with secrets that are set. A copy does not contain them. */
  readonly secrets: readonly string[]
  /** Shows whether a SECRET_KEY is that of a copy, without revealing it. */
  readonly secretMark: string
}

/** The continuous copy of the database. */
export interface LitestreamSettings {
  /** Its name on the PATH, or its path. */
  readonly program: string
  /** Where it copies the database: `s3://bucket/prefix` or `file:///folder`. Null: this gateway starts none. */
  readonly replica: string | null
}

/** How to sign in to an S3-compatible store. */
export interface StoreAccess {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | null
  readonly endpoint: string | null
  readonly region: string | null
}

const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }
const MIN_EVERY_MS = 5 * MINUTE_MS
const MARK_LENGTH = 16

const endpoint = httpUrl({
  example: 'https://s3.example.com',
  doc: "Address of a store that is not Amazon's",
})
const region = text({ example: 'eu-central-1', doc: 'Region of the bucket' })

export const BACKUPS = group(
  'Backups',
  "Copies of the data, and the access to a bucket by the variables of Amazon's tools. [How](operating/backup.md).",
  {
    BACKUP_TO: text({
      is: /^(?!s3:)|^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/|$)/,
      rule: 'a folder or s3://bucket/prefix',
      otherwise: 'no schedule',
      example: 's3://bucket/gateway',
      doc: 'Where scheduled copies go: a folder or `s3://bucket/prefix`. Also the default place of the commands',
    }),
    BACKUP_EVERY: setting(
      {
        default: '24h',
        example: '6h',
        doc: 'How old the newest copy may be: `30m`, `6h`, `1d`; at least `5m`',
      },
      { type: 'string', pattern: '^[1-9][0-9]{0,3}[mhd]$' },
      interval,
    ),
    BACKUP_KEEP: integer({
      default: 7,
      min: 1,
      max: 9999,
      doc: 'How many copies stay in `BACKUP_TO`',
    }),
    BACKUP_BEFORE_UPGRADE: flag({
      default: true,
      doc: 'Whether the data of an older version is copied to `DATA_DIR/before-upgrade` before it is migrated. [How](upgrading.md)',
    }),
    LITESTREAM_REPLICA: text({
      is: /^(file:\/\/\/.|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/|$))/,
      rule: 's3://bucket/prefix or file:///folder',
      otherwise: 'no continuous copy',
      example: 's3://bucket/a',
      doc: 'Where the gateway lets Litestream copy the database, once a second: a place of its own for each data folder ([a continuous copy](operating/backup.md#a-continuous-copy-by-litestream))',
    }),
    LITESTREAM: text({
      otherwise: '`litestream` on the PATH',
      example: '/usr/local/bin/litestream',
      doc: 'The program of <https://litestream.io>; 0.5.17 is tested',
    }),
    AWS_ACCESS_KEY_ID: text({ doc: 'Access to the bucket' }),
    AWS_SECRET_ACCESS_KEY: text({ secret: true, doc: 'Its secret' }),
    AWS_SESSION_TOKEN: text({ secret: true, doc: 'For temporary access' }),
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
  },
)

/** Reads where copies go and when, and the store's standard variables. `secrets` are the names of those that are set. */
export function backupSettings(
  read: Read,
  { secretKey, secrets }: { readonly secretKey: string; readonly secrets: readonly string[] },
): BackupSettings {
  const { BACKUP_TO, BACKUP_EVERY, BACKUP_KEEP } = BACKUPS.settings
  const to = BACKUP_TO.of(read)
  const access = storeAccess(read)
  const litestream = litestreamSettings(read)
  if (litestream.replica?.startsWith('s3:') && (!access || access.sessionToken !== null))
    throw new ConfigError(
      'LITESTREAM_REPLICA is a bucket, so AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set, of access that does not end: Litestream takes no AWS_SESSION_TOKEN',
    )
  if (to?.startsWith('s3:') && !access)
    throw new ConfigError('BACKUP_TO is a bucket, so AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set')
  return {
    to,
    everyMs: BACKUP_EVERY.of(read),
    keep: BACKUP_KEEP.of(read),
    beforeUpgrade: BACKUPS.settings.BACKUP_BEFORE_UPGRADE.of(read),
    access,
    litestream,
    secrets,
    secretMark: secretMark(secretKey),
  }
}

export function litestreamSettings(read: Read): LitestreamSettings {
  const { LITESTREAM, LITESTREAM_REPLICA } = BACKUPS.settings
  const replica = LITESTREAM_REPLICA.of(read)
  return { program: LITESTREAM.of(read) ?? 'litestream', replica: replica?.replace(/\/+$/, '') ?? null }
}

/** The access to an S3-compatible store, by the variables of Amazon's own tools. Null if no key is set. */
export function storeAccess(read: Read): StoreAccess | null {
  const { settings } = BACKUPS
  const accessKeyId = settings.AWS_ACCESS_KEY_ID.of(read)
  const secretAccessKey = settings.AWS_SECRET_ACCESS_KEY.of(read)
  if (accessKeyId === null || secretAccessKey === null) return null
  const endpointUrl = settings.AWS_ENDPOINT_URL_S3.of(read) ?? settings.AWS_ENDPOINT_URL.of(read)
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: settings.AWS_SESSION_TOKEN.of(read),
    endpoint: endpointUrl?.replace(/\/$/, '') ?? null,
    region: settings.AWS_REGION.of(read) ?? settings.AWS_DEFAULT_REGION.of(read),
  }
}

/** Tells one SECRET_KEY from another, without revealing it. */
export function secretMark(secretKey: string): string {
  return createHmac('sha256', secretKey).update('gateway backup').digest('hex').slice(0, MARK_LENGTH)
}

function interval(given: string, name: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,3})([mhd])$/.exec(given) ?? []
  const ms = Number(count) * (UNITS[unit] ?? Number.NaN)
  if (!(ms >= MIN_EVERY_MS)) throw invalidSetting(name, 'a time such as 30m, 6h or 1d, at least 5m', given)
  return ms
}
