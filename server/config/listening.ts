import { isIP } from 'node:net'
import { isLoopbackHost } from '../core/credentials/address'
import { Allowlist } from '../core/credentials/allowlist'
import { ConfigError } from './config-error'
import { choice, flag, group, integer, invalidSetting, list, quoted, type Read, setting } from './schema/setting'

const MAX_DRAIN_SECONDS = 86_400
/** In production, what a load balancer needs to notice. */
const NOTICE_SECONDS = 5

export const LISTENING = group('Address and proxies', '', {
  PORT: integer({ default: 3000, min: 0, max: 65_535, doc: 'Port; `0` picks a free one' }),
  HOST: setting(
    {
      default: '127.0.0.1',
      example: '0.0.0.0',
      doc: 'Address to listen on. See [Who is operator](operating/install.md#who-is-operator)',
    },
    { type: 'string' },
    host,
  ),
  BASE_URL: setting(
    {
      default: null,
      otherwise: '`http://HOST:PORT`',
      example: 'https://api.example.com',
      doc: 'Public origin, such as `https://api.example.com`',
    },
    { type: 'string', format: 'uri' },
    origin,
  ),
  CORS_ORIGINS: list(
    {
      example: 'https://app.example.com',
      doc: 'Origins of web pages and apps (`tauri://localhost`), comma separated, that may call `/mcp`, `/apis`, `/v1` and `/v1beta` from a browser with a key or token of their own, such as `https://app.example.com`. Cookies are never accepted from them',
    },
    origins,
  ),
  TRUSTED_PROXIES: list(
    {
      example: '10.0.0.5,10.1.0.0/16',
      doc: 'Addresses or CIDR ranges, comma separated, of the proxies in front. The gateway trusts their forwarding header',
    },
    proxies,
  ),
  TRUSTED_PROXY_HEADER: setting(
    {
      default: null,
      otherwise: '`x-forwarded-for`',
      doc: 'The header in which these proxies report the caller: `x-forwarded-for` or `forwarded`. When not set, a request that carries both comes from an unknown address: it matches no allowlist, and the log says so once. Let the proxy remove the other header',
    },
    { enum: ['x-forwarded-for', 'forwarded'] },
    proxyHeader,
  ),
  TAKE_OVER: flag({
    default: false,
    doc: 'Whether a start takes over from the gateway that runs on the same data and port, without losing a call, and hands over to the next one that does ([more](operating/restart.md)). Linux',
  }),
  DRAIN_NOTICE_SECONDS: integer({
    default: null,
    min: 0,
    max: 3_600,
    otherwise: '`5` in production, else `0`',
    doc: 'How long a stop serves calls as before, while `/ready` says `draining`, before it closes the port ([more](operating/restart.md))',
  }),
  DRAIN_SECONDS: integer({
    default: null,
    min: 0,
    max: MAX_DRAIN_SECONDS,
    otherwise: '5 more than the longest deadline of the models and imported APIs, at least 35',
    doc: 'How long a stop waits for calls in progress. It then ends the rest without charging callers who are still connected. Configure your supervisor to wait longer before it kills the process',
  }),
  NODE_ENV: choice({
    default: 'development',
    values: ['development', 'test', 'production'],
    environmentOnly: true,
    doc: '`development`, `test` or `production`',
  }),
})

export interface ListeningSettings {
  readonly port: number
  readonly host: string
  /** Whether only this machine can reach the host. */
  readonly isLoopback: boolean
  /** The public origin, without a trailing slash. */
  readonly baseUrl: string
  /** Proxies whose forwarding header is trusted. */
  readonly trustedProxies: Allowlist | null
  /** The forwarding header that they set; null if not configured. */
  readonly trustedProxyHeader: 'x-forwarded-for' | 'forwarded' | null
  /** Origins of web pages that may call the API with a key of their own. */
  readonly corsOrigins: ReadonlySet<string>
  /** Whether a start takes over from the gateway that runs on the same data, and hands over to the next one. */
  readonly takeOver: boolean
  /** How long shutdown waits for calls in progress; null for the longest configured deadline. */
  readonly drainSeconds: number | null
  /** How long a stop serves calls as before, while `/ready` says that it is draining. */
  readonly drainNoticeSeconds: number
}

export function listeningSettings(read: Read): ListeningSettings {
  const { settings } = LISTENING
  const port = settings.PORT.of(read)
  const address = settings.HOST.of(read)
  const takeOver = settings.TAKE_OVER.of(read)
  return {
    port,
    host: address,
    isLoopback: isLoopbackHost(address),
    baseUrl: settings.BASE_URL.of(read) ?? origin(`http://${reachable(address)}:${port}`, 'BASE_URL'),
    trustedProxies: settings.TRUSTED_PROXIES.of(read),
    trustedProxyHeader: settings.TRUSTED_PROXY_HEADER.of(read),
    corsOrigins: settings.CORS_ORIGINS.of(read) ?? new Set(),
    takeOver,
    drainSeconds: settings.DRAIN_SECONDS.of(read),
    drainNoticeSeconds:
      settings.DRAIN_NOTICE_SECONDS.of(read) ?? (settings.NODE_ENV.of(read) === 'production' ? NOTICE_SECONDS : 0),
  }
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i

function host(value: string, name: string): string {
  // Digits and dots alone are an address that was mistyped, such as 127.0.0.256.
  if (isIP(value) === 0 && (!HOST_NAME.test(value) || /^[\d.]+$/.test(value)))
    throw invalidSetting(
      name,
      'an address of this machine such as 127.0.0.1, 0.0.0.0 or ::, without scheme and port',
      value,
    )
  return value
}

/** A host name that clients on this machine can use in a URL. */
export function reachable(address: string): string {
  if (address === '0.0.0.0' || address === '::') return 'localhost'
  return address.includes(':') ? `[${address}]` : address
}

function origin(value: string, name: string): string {
  const url = URL.parse(value)
  if (
    !url ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.pathname !== '/' ||
    url.search ||
    url.hash ||
    url.username
  )
    throw invalidSetting(name, 'an origin such as https://api.example.com', value)
  return url.origin
}

/** Of a desktop or mobile app, or a browser extension, whose scheme is its own: `tauri://localhost`, `chrome-extension://ID`. Never `null`. */
const APP_ORIGIN =
  /^(?!(?:https?|ftp|wss?|file|data|blob|about|javascript):)[a-z][a-z0-9+.-]{1,30}:\/\/[a-z0-9._-]{1,100}$/i

/** Exact origins of web pages; a wildcard would let any page spend a key that it was given. */
function origins(entries: readonly string[], name: string): ReadonlySet<string> {
  for (const entry of entries)
    if (!(URL.parse(entry)?.origin === entry && /^https?:[^*]+$/.test(entry)) && !APP_ORIGIN.test(entry))
      throw invalidSetting(
        name,
        'a comma-separated list of origins, such as https://app.example.com or tauri://localhost, without a path',
        entry,
      )
  return new Set(entries)
}

/** The widest networks that somebody has to himself are 10.0.0.0/8 and fc00::/7. */
const MIN_PREFIX = { v4: 8, v6: 7 }

function proxies(entries: readonly string[], name: string): Allowlist {
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const min = address.includes(':') ? MIN_PREFIX.v6 : MIN_PREFIX.v4
    if (prefix !== undefined && /^\d+$/.test(prefix) && Number(prefix) < min)
      throw new ConfigError(
        `${name} contains ${quoted(entry)}, with which callers could choose their own address. Name your proxies only, such as 10.0.0.5 or 10.1.0.0/16`,
      )
  }
  return networks(entries, name)
}

/** Addresses and CIDR ranges. */
export function networks(entries: readonly string[], name: string): Allowlist {
  const parsed = Allowlist.parse(entries)
  if (parsed.ok) return parsed.value
  const { entry, rule } = parsed.error
  throw new ConfigError(
    `${name} must be addresses or CIDR ranges, separated by commas, such as 10.0.0.0/8,::1, but ${quoted(entry)} ${rule}`,
  )
}

function proxyHeader(value: string, name: string): 'x-forwarded-for' | 'forwarded' {
  const header = value.toLowerCase()
  if (header !== 'x-forwarded-for' && header !== 'forwarded')
    throw invalidSetting(name, 'one of x-forwarded-for, forwarded', value)
  return header
}

/** A call that takes its whole deadline ends within the default of DRAIN_SECONDS. */
const MARGIN_MS = 5_000

/** How long a stop waits for calls in progress. */
export function drainMsOf(
  { drainSeconds }: Pick<ListeningSettings, 'drainSeconds'>,
  { longestCallMs }: { longestCallMs(): number },
): number {
  return drainSeconds === null ? longestCallMs() + MARGIN_MS : drainSeconds * 1000
}
