import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isLoopbackHost } from '../core/credentials/address'
import { readWorkerCredential } from '../core/credentials/worker-credentials'
import { reasonOf } from '../core/result'
import { ConfigError } from './config-error'
import { group, integer, invalidSetting, list, type Read, setting, text } from './schema/setting'
import { TRACES } from './traces'
import { SEARCH } from './websearch'

const MAX_WORKERS = 64
const SECRET_FORM = 'what "gateway operator workers add NAME" printed'

export const WORKERS = group(
  'Workers',
  'Processes that serve calls and ask one primary about each: [workers](workers.md). `PRIMARY`, `PRIMARY_CA` and `WORKER_CREDENTIAL` are for `gateway worker`, which besides reads `HOST`, `PORT`, `DATA_DIR` and `LOG_...`, and has all other settings from its primary.',
  {
    WORKERS: setting(
      {
        default: '0',
        example: 'auto',
        doc: 'How many workers of this machine serve calls, at most 64; `auto`: one fewer than cores. Linux',
      },
      { anyOf: [{ type: 'integer', minimum: 0, maximum: MAX_WORKERS }, { const: 'auto' }] },
      (text, name) => workers(text, name),
    ),
    WORKERS_PORT: integer({
      default: null,
      min: 1,
      max: 65_534,
      otherwise: 'none',
      doc: 'Port for workers of other machines. The port after it takes the requests that they pass on',
    }),
    WORKERS_HOST: text({ default: '127.0.0.1', doc: 'Address of these ports. One that others can reach needs TLS' }),
    WORKERS_CERT: text({ doc: 'File with the certificate of these ports and its chain (PEM)' }),
    WORKERS_CERT_KEY: text({ doc: 'File with its private key (PEM)' }),
    PRIMARY: list(
      {
        example: 'https://10.0.0.1:7000,https://10.0.0.2:7000',
        doc: 'Where the primary listens for workers: `https://HOST:WORKERS_PORT`; several if one of them is the primary at a time. Without TLS only on this machine',
      },
      (entries, name) => entries.map((entry) => primaryAddress(entry, name)),
    ),
    PRIMARY_CA: text({
      otherwise: "the system's",
      doc: "File with the certificates to trust as the primary's (PEM), such as one that signed itself",
    }),
    WORKER_CREDENTIAL: setting(
      { default: null, secret: true, doc: `The credential of this worker: ${SECRET_FORM}` },
      { type: 'string' },
      (text, name) => {
        const credential = readWorkerCredential(text)
        if (credential === null) throw invalidSetting(name, SECRET_FORM, null)
        return credential
      },
    ),
  },
)

/** Where a primary listens over TCP. */
export interface PrimaryOrigin {
  readonly hostname: string
  readonly port: number
  readonly tls: boolean
}

export interface WorkerSettings {
  /** How many workers this process starts; 0: it serves all calls itself. */
  readonly workers: number
  /** Where workers of other machines connect; null for none. They pass on to the port after it. */
  readonly workersListener: {
    readonly host: string
    readonly port: number
    /** Null on this machine only. */
    readonly tls: { readonly cert: string; readonly key: string } | null
  } | null
}

export function workerSettings(read: Read): WorkerSettings {
  const { settings } = WORKERS
  const count = settings.WORKERS.of(read)
  const [port, host] = [settings.WORKERS_PORT.of(read), settings.WORKERS_HOST.of(read)]
  if (port === null) return { workers: count, workersListener: null }
  const [cert, key] = [settings.WORKERS_CERT.of(read), settings.WORKERS_CERT_KEY.of(read)]
  if ((cert === null || key === null) && (cert !== key || !isLoopbackHost(host)))
    throw new ConfigError(
      `WORKERS_PORT on ${host} needs TLS. Set WORKERS_CERT and WORKERS_CERT_KEY to the files of a certificate, or use WORKERS_HOST=127.0.0.1`,
    )
  const tls = cert && key ? { cert: contents(cert, 'WORKERS_CERT'), key: contents(key, 'WORKERS_CERT_KEY') } : null
  return { workers: count, workersListener: { host, port, tls } }
}

/** The settings that a worker has from where it runs. All others are its primary's. */
export const OF_WORKER: ReadonlySet<string> = new Set([
  ...['HOST', 'PORT', 'DATA_DIR', 'CONFIG_FILE', 'WORKERS'],
  ...['LOG_LEVEL', 'LOG_FILE', 'LOG_FORMAT'],
])

/** The settings that a worker has from its primary: those of its calls, and no secret but of what it asks itself. */
const PUSHED: readonly string[] = [
  ...['NODE_ENV', 'CORS_ORIGINS', 'TRUSTED_PROXIES', 'TRUSTED_PROXY_HEADER', 'DRAIN_SECONDS', 'DRAIN_NOTICE_SECONDS'],
  ...['ANON_RPM', 'CREDIT_BUYS_PAID_PROVIDERS', 'MODEL_OUTPUT_TOKENS', 'ALLOW_PRIVATE_UPSTREAMS'],
  ...[SEARCH, TRACES].flatMap(({ settings }) => Object.keys(settings)),
]

/** Settings by name, as texts. May contain secrets. */
export type SettingTexts = Readonly<Record<string, string>>

/** What a primary pushes. */
export function settingsForWorkers(read: Read, baseUrl: string): SettingTexts {
  const set = PUSHED.flatMap((name): [string, string][] => {
    const text = read(name)
    return text === null ? [] : [[name, text]]
  })
  return { ...Object.fromEntries(set), BASE_URL: baseUrl }
}

/**
 * Reads a worker's settings. It opens no data, so it has secrets of its own, which seal nothing that lasts. With those of its machine it shares the
 * memory.
 */
export function workerRead(own: Read, pushed: SettingTexts, isLocal: boolean): Read {
  const secret = () => randomBytes(32).toString('base64')
  const all = new Map(Object.entries({ ...pushed, SECRET_KEY: secret(), SEALING_KEYS: `worker:${secret()}` }))
  return (name) => (OF_WORKER.has(name) && (isLocal || name !== 'WORKERS') ? own(name) : (all.get(name) ?? null))
}

/** The settings of `gateway worker`. Throws `ConfigError` if one is missing. */
export function remoteWorkerSettings(read: Read) {
  const { PRIMARY, PRIMARY_CA, WORKER_CREDENTIAL } = WORKERS.settings
  const [primaries, ca, credential] = [PRIMARY.of(read), PRIMARY_CA.of(read), WORKER_CREDENTIAL.of(read)]
  if (primaries === null) throw new ConfigError('PRIMARY is not set. Give --primary https://HOST:WORKERS_PORT')
  if (credential === null) throw new ConfigError(`WORKER_CREDENTIAL is not set. Set it to ${SECRET_FORM}`)
  return { primaries, credential, ca: ca === null ? null : contents(ca, 'PRIMARY_CA') }
}

function contents(file: string, name: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${reasonOf(error)}`)
  }
}

/** The connection carries prompts and keys, so without TLS it must not leave this machine. */
function primaryAddress(entry: string, name: string): PrimaryOrigin {
  const url = URL.parse(entry)
  const isMore = url && (url.username || url.password || url.search || url.hash || url.pathname !== '/')
  if (!url || isMore || !['http:', 'https:'].includes(url.protocol))
    throw invalidSetting(name, 'addresses such as https://10.0.0.1:7000, without a path', entry)
  const tls = url.protocol === 'https:'
  if (!tls && !isLoopbackHost(url.hostname))
    throw new ConfigError(`${name} has ${entry}, which is not encrypted. Use https:// for another machine`)
  return { hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || (tls ? 443 : 80)), tls }
}

/** Elsewhere than on Linux a port is not shared evenly, and has no lock that ends with its process. */
export function workers(text: string, name: string, platform: string = process.platform): number {
  const count =
    text === 'auto' ? Math.min(availableParallelism() - 1, MAX_WORKERS) : /^\d{1,2}$/.test(text) ? Number(text) : -1
  if (count < 0 || count > MAX_WORKERS) throw invalidSetting(name, `an integer from 0 to ${MAX_WORKERS}, or auto`, text)
  if (text !== '0' && platform !== 'linux')
    throw new ConfigError(`${name}=${text} needs Linux. Unset it: one process serves all calls here`)
  return count
}
