import { hkdfSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isLoopbackHost } from '../core/credentials/address'
import type { SealingKey } from '../core/sealing'
import { ConfigError } from './config-error'
import { choice, flag, group, integer, invalidSetting, type Read, setting, text } from './schema/setting'

const MIN_SECRET_BYTES = 32

export const DATA = group('Data and secrets', '', {
  DATA_DIR: text({
    default: 'data',
    environmentOnly: true,
    doc: 'Folder of the database, the index, the secret and the control socket. One gateway at a time',
  }),
  NEW_DATA_DIR: flag({
    default: false,
    environmentOnly: true,
    doc: 'Whether a start may begin a new gateway although its volume is not mounted, `DATA_DIR` does not exist, or `BACKUP_TO` has copies of it ([when a start is refused](operating/install.md#when-a-start-is-refused)). For one start, like `--new`',
  }),
  CONFIG_FILE: text({
    otherwise: '`DATA_DIR/gateway.yaml`, if it exists',
    example: '/etc/gateway/gateway.yaml',
    environmentOnly: true,
    doc: 'The [configuration file](#the-configuration-file)',
  }),
  DATABASE_URL: text({
    is: /^(file:|libsql:|https?:)./,
    rule: 'a URL such as file:data/gateway.db or libsql://db.example.com',
    // It may contain a token.
    secret: true,
    otherwise: '`file:` in `DATA_DIR`',
    doc: '`file:`, `libsql:`, `http:` or `https:` of a libSQL database. One gateway owns it at a time',
  }),
  DATABASE_AUTH_TOKEN: text({ secret: true, doc: 'Token of a remote database' }),
  DATABASE_SYNC: choice({
    default: 'asked',
    values: ['asked', 'promised'],
    doc: '`asked`: a database server that says that it acknowledges commits before they are on disk is refused. `promised`: you promise that its disk has what it acknowledges ([what a libSQL server needs](operating/install.md#a-database-server))',
  }),
  LOG_URL: text({
    is: /^postgres(ql)?:\/\/./,
    rule: 'a URL such as postgres://gateway@db.example.com/log?sslmode=verify-full',
    secret: true,
    doc: '`postgres://` of a database of its own, PostgreSQL 14 or newer: each charge is there too before it is answered, so that losing this machine loses none ([two machines](two-machines.md))',
  }),
  LOG_KEEP_HOURS: integer({
    default: 72,
    min: 1,
    max: 8760,
    doc: 'How long the log at `LOG_URL` keeps groups. A copy of the data that is older cannot be continued with it',
  }),
  DISK_RESERVE_MIB: integer({
    default: 16,
    min: 0,
    max: 1024,
    doc: 'MiB that are kept free on the disk of the database, as a file next to it. [A full disk](operating/disk.md#a-full-disk) gets it, so that calls in progress can be charged. 0 keeps none',
  }),
  SECRET_KEY: setting(
    {
      default: null,
      secret: true,
      otherwise: '`DATA_DIR/secret_key`',
      doc: 'At least 32 bytes; signs sessions. `bun run up` creates it when absent. Another one signs everybody out, and authenticator apps must be [set up again](adr/0009-sign-in.md)',
    },
    { type: 'string' },
    longSecret,
  ),
  SEALING_KEYS: text({
    secret: true,
    otherwise: 'derived from `SECRET_KEY`',
    doc: 'Keys that seal tokens at rest (AES-256-GCM): `k2:BASE64,k1:BASE64`, 32 bytes each, `openssl rand -base64 32`. The first key seals, all of them open. At the start the gateway reseals what older keys sealed; the log says when you can remove them. Required in production',
  }),
})

export interface DataSettings {
  /** Whether a new gateway may begin where there should be data. */
  readonly newDataDir: boolean
  readonly databaseUrl: string
  readonly databaseAuthToken: string | null
  /** Whether the operator promises that the disk of a database server has what the server acknowledges. */
  readonly databaseSyncPromised: boolean
  /** Where the log has a second place; null without one. */
  readonly logCopy: { readonly url: string; readonly keepHours: number } | null
  /** How much of the disk is kept for charges of calls in progress. */
  readonly diskReserveBytes: number
  readonly secretKey: string
  /** Keys that encrypt tokens at rest, newest first. */
  readonly sealingKeys: readonly SealingKey[]
}

export function dataSettings(read: Read, dataDir: string, production: boolean): DataSettings {
  const { DATABASE_AUTH_TOKEN, DATABASE_SYNC, DISK_RESERVE_MIB, NEW_DATA_DIR, SEALING_KEYS } = DATA.settings
  const secret = secretKey(read, secretFile(dataDir))
  return {
    newDataDir: NEW_DATA_DIR.of(read),
    databaseUrl: databaseUrl(read, dataDir),
    databaseAuthToken: DATABASE_AUTH_TOKEN.of(read),
    databaseSyncPromised: DATABASE_SYNC.of(read) === 'promised',
    logCopy: logCopy(read, dataDir),
    diskReserveBytes: DISK_RESERVE_MIB.of(read) * 1024 * 1024,
    secretKey: secret,
    sealingKeys: sealingKeys(SEALING_KEYS.of(read), secret, production),
  }
}

export function databaseUrl(read: Read, dataDir: string): string {
  return DATA.settings.DATABASE_URL.of(read) ?? pathToFileURL(join(dataDir, 'gateway.db')).href
}

/** The log's second place. Refuses what would send it over a network in plain text. */
export function logCopy(read: Read, dataDir: string): DataSettings['logCopy'] {
  const { LOG_URL, LOG_KEEP_HOURS } = DATA.settings
  const [url, keepHours] = [LOG_URL.of(read), LOG_KEEP_HOURS.of(read)]
  if (url === null) return null
  if (!URL.canParse(url)) throw new ConfigError('LOG_URL is not a URL, such as postgres://gateway@db.example.com/log')
  if (!databaseUrl(read, dataDir).startsWith('file:'))
    throw new ConfigError(
      'LOG_URL is for a database file: with DATABASE_URL of a server, that server keeps the only copy. Unset one of them',
    )
  const { hostname, searchParams } = new URL(url)
  const host = searchParams.get('host') ?? hostname
  const isHere = host === '' || host.startsWith('/') || isLoopbackHost(host)
  if (!isHere && searchParams.get('sslmode') !== 'verify-full')
    throw new ConfigError('LOG_URL leads over a network and must end with sslmode=verify-full')
  return { url, keepHours }
}

/** For commands, which do not judge the settings of production. */
export function sealingKeysOf(read: Read, dataDir: string): readonly SealingKey[] {
  return sealingKeys(DATA.settings.SEALING_KEYS.of(read), secretKey(read, secretFile(dataDir)), false)
}

/** The file that the first start by `up` creates, because SECRET_KEY is not set; null if there is a secret. */
export function missingSecretFile(read: Read, dataDir: string): string | null {
  const file = secretFile(dataDir)
  return read('SECRET_KEY') === null && !existsSync(file) ? file : null
}

function secretFile(dataDir: string): string {
  return join(dataDir, 'secret_key')
}

function secretKey(read: Read, file: string): string {
  const given = DATA.settings.SECRET_KEY.of(read)
  if (given !== null) return given
  if (existsSync(file)) return longSecret(readFileSync(file, 'utf8').trim(), `The secret in ${file}`)
  throw new ConfigError(
    `SECRET_KEY is not set and ${file} does not exist. Set it, or run "bun run up" to create the file`,
  )
}

function longSecret(value: string, name: string): string {
  if (Buffer.byteLength(value) < MIN_SECRET_BYTES)
    throw invalidSetting(name, 'at least 32 bytes long. Create one with: openssl rand -base64 32', null)
  return value
}

const KEY_BYTES = 32
/** The id of the key derived from SECRET_KEY. Configured keys cannot use it. */
const DERIVED = 'derived'
const FORM =
  'SEALING_KEYS must be a comma-separated list of id:key, newest first, such as k2:...,k1:... with keys of 32 bytes in base64 (openssl rand -base64 32)'

/**
 * The keys that encrypt tokens at rest, newest first. Without `SEALING_KEYS` there is one key, derived from SECRET_KEY. Production
 * refuses that, because a leaked session secret must not open linked accounts. The derived key always remains as the oldest, so
 * that tokens sealed before `SEALING_KEYS` was set still open.
 */
function sealingKeys(given: string | null, secretKey: string, production: boolean): readonly SealingKey[] {
  const derived = {
    id: DERIVED,
    bytes: new Uint8Array(hkdfSync('sha256', secretKey, '', 'gateway sealing v1', KEY_BYTES)),
  }
  if (given === null && production)
    throw new ConfigError(
      `SEALING_KEYS is not set, but production needs it, such as SEALING_KEYS=k1:$(openssl rand -base64 32)`,
    )
  const keys = given === null ? [] : given.split(',').map((entry) => parseKey(entry.trim()))
  if (new Set(keys.map((key) => key.id)).size !== keys.length)
    throw new ConfigError('SEALING_KEYS contains an id twice. Give every key its own id, such as k2:...,k1:...')
  return [...keys, derived]
}

function parseKey(entry: string): SealingKey {
  const [, id, text] = /^([a-z0-9]{1,16}):([A-Za-z0-9+/_-]{43}=?)$/.exec(entry) ?? []
  const bytes = Buffer.from(text ?? '', 'base64')
  if (id === undefined || id === DERIVED || bytes.length !== KEY_BYTES) throw new ConfigError(FORM)
  return { id, bytes: new Uint8Array(bytes) }
}
