import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type ApiSettings, apiSettings } from './config/apis'
import { type BackupSettings, backupSettings } from './config/backups'
import { type CardSettings, cardSettings } from './config/card-payments'
import { ConfigError } from './config/config-error'
import { type MailConfig, mailConfig } from './config/mail'
import { type ModelSettings, modelSettings } from './config/model-settings'
import { type PaymentSettings, paymentSettings } from './config/payments'
import { sealingKeys } from './config/sealing-keys'
import { type SocialConfig, socialConfig } from './config/social'
import { type MetricsSettings, metricsSettings } from './config/telemetry'
import { type TraceSettings, traceSettings } from './config/traces'
import { type WebsearchConfig, websearchConfig } from './config/websearch'
import type { SecondFactorPolicy } from './core/accounts/identity'
import type { SignupBrakes } from './core/accounts/signup-credit'
import { isLoopbackHost } from './core/credentials/address'
import { Allowlist } from './core/credentials/allowlist'
import { micros } from './core/money'
import type { SealingKey } from './core/sealing'
import type { RetentionDays } from './core/usage/retention'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
/** `json`: one JSON object per line, for collectors of logs. */
export type LogFormat = 'text' | 'json'

/** The gateway's configuration, read only from environment variables (see the table in the README). */
export interface Config {
  readonly port: number
  readonly host: string
  /** Whether only this machine can reach the host. */
  readonly isLoopback: boolean
  /** The public origin, without a trailing slash. */
  readonly baseUrl: string
  readonly dataDir: string
  /** How long shutdown waits for calls in progress; null for the longest configured deadline. */
  readonly drainSeconds: number | null
  /** How long a stop serves calls as before, while `/ready` says that it is draining. */
  readonly drainNoticeSeconds: number
  /** Whether a start takes over from the gateway that runs on the same data, and hands over to the next one. */
  readonly takeOver: boolean
  readonly databaseUrl: string
  readonly databaseAuthToken: string | null
  readonly secretKey: string
  /** Keys that encrypt tokens at rest, newest first. */
  readonly sealingKeys: readonly SealingKey[]
  /** Proxies whose forwarding header is trusted. */
  readonly trustedProxies: Allowlist | null
  /** The forwarding header that they set; null if not configured. */
  readonly trustedProxyHeader: 'x-forwarded-for' | 'forwarded' | null
  /** Origins of web pages that may call the API with a key of their own. */
  readonly corsOrigins: ReadonlySet<string>
  /** Whether the first account becomes operator without the one-time token if it signs up on this machine. */
  readonly firstAccountIsOperator: boolean
  readonly websearch: WebsearchConfig
  readonly payments: PaymentSettings
  readonly social: SocialConfig
  readonly cards: CardSettings | null
  readonly anonymousRpm: number
  readonly signUpRpm: number
  readonly signupBrakes: SignupBrakes
  readonly secondFactors: SecondFactorPolicy
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
  /** Whether signup credit may pay for upstreams that cost the operator money. */
  readonly creditBuysPaidProviders: boolean
  /** How many days old rows are kept; 0 keeps them. */
  readonly retention: RetentionDays
  /** Whether receivers of webhooks may be private addresses. */
  readonly webhooksAllowPrivate: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

const LOG_FORMATS: readonly LogFormat[] = ['text', 'json']

/** The format of lines that are written before the settings are read, or because they are wrong. */
export function logFormat(environment: Environment = process.env): LogFormat {
  return environment['LOG_FORMAT']?.trim() === 'json' ? 'json' : 'text'
}

/** The absolute path of the folder with all of the gateway's data. */
export function dataFolder(environment: Environment = process.env): string {
  return resolve(environment['DATA_DIR']?.trim() || 'data')
}

/** The URL of the database. */
export function databaseLocation(environment: Environment = process.env): string {
  return databaseUrl(environment['DATABASE_URL']?.trim() || `file:${join(dataFolder(environment), 'gateway.db')}`)
}

/** Reads and validates all settings. Throws `ConfigError` for the first invalid one. `overrides` take precedence. */
export function readConfig(overrides: Environment = {}, inherited: Environment = process.env): Config {
  const environment = { ...inherited, ...overrides }
  const read = (name: string): string | null => environment[name]?.trim() || null
  const port = wholeNumber('PORT', read('PORT') ?? '3000', 0, 65535)
  const host = read('HOST') ?? '127.0.0.1'
  const dataDir = dataFolder(environment)
  const mode = oneOf('NODE_ENV', read('NODE_ENV') ?? 'development', ['development', 'test', 'production'])
  const production = mode === 'production'
  const secret = secretKey(read('SECRET_KEY'), join(dataDir, 'secret_key'))
  const isLoopback = isLoopbackHost(host)
  const baseUrl = origin(read('BASE_URL') ?? `http://${reachable(host)}:${port}`)
  return {
    port,
    host,
    isLoopback,
    baseUrl,
    dataDir,
    databaseUrl: databaseLocation(environment),
    databaseAuthToken: read('DATABASE_AUTH_TOKEN'),
    secretKey: secret,
    sealingKeys: sealingKeys(read('SEALING_KEYS'), secret, production),
    trustedProxies: addresses('TRUSTED_PROXIES', read('TRUSTED_PROXIES')),
    trustedProxyHeader: optionalOneOf('TRUSTED_PROXY_HEADER', read('TRUSTED_PROXY_HEADER')?.toLowerCase() ?? null, [
      'x-forwarded-for',
      'forwarded',
    ]),
    corsOrigins: origins(read('CORS_ORIGINS')),
    firstAccountIsOperator: isLoopback && isLoopbackHost(new URL(baseUrl).hostname) && !production,
    websearch: websearchConfig(read),
    payments: paymentSettings(read, { secretKey: secret, baseUrl, isLoopback, environment: mode }),
    social: socialConfig(read, production),
    cards: cardSettings(read, production),
    drainSeconds: seconds('DRAIN_SECONDS', read('DRAIN_SECONDS')),
    takeOver: oneOf('TAKE_OVER', read('TAKE_OVER') ?? 'false', ['true', 'false']) === 'true',
    drainNoticeSeconds: wholeNumber(
      'DRAIN_NOTICE_SECONDS',
      read('DRAIN_NOTICE_SECONDS') ?? (production ? '5' : '0'),
      0,
      3_600,
    ),
    anonymousRpm: wholeNumber('ANON_RPM', read('ANON_RPM') ?? '60', 1, 1_000_000),
    signUpRpm: wholeNumber('SIGNUP_RPM', read('SIGNUP_RPM') ?? '10', 1, 1_000_000),
    secondFactors:
      optionalOneOf('REQUIRE_SECOND_FACTOR', read('REQUIRE_SECOND_FACTOR'), ['operators', 'all']) ?? 'nobody',
    signupBrakes: {
      perNetwork: wholeNumber('SIGNUP_CREDIT_PER_NETWORK', read('SIGNUP_CREDIT_PER_NETWORK') ?? '10', 0, 1_000_000),
      daily: micros(
        wholeNumber('SIGNUP_CREDIT_DAILY_USD', read('SIGNUP_CREDIT_DAILY_USD') ?? '200', 0, 1_000_000) * 1_000_000,
      ),
    },
    logLevel: oneOf('LOG_LEVEL', read('LOG_LEVEL') ?? 'info', ['debug', 'info', 'warn', 'error']),
    logFile: read('LOG_FILE'),
    logFormat: oneOf('LOG_FORMAT', read('LOG_FORMAT') ?? 'text', LOG_FORMATS),
    metrics: metricsSettings(read, port),
    traces: traceSettings(read),
    mail: mailConfig(read),
    production,
    models: modelSettings(read, production),
    apis: apiSettings(environment, production),
    backup: backupSettings(environment, secret),
    retention: {
      requests: wholeNumber('REQUEST_LOG_DAYS', read('REQUEST_LOG_DAYS') ?? '0', 0, MAX_DAYS),
      audit: wholeNumber('AUDIT_DAYS', read('AUDIT_DAYS') ?? '0', 0, MAX_DAYS),
      events: eventDays(read('EVENT_DAYS') ?? '0'),
    },
    webhooksAllowPrivate:
      oneOf('WEBHOOKS_ALLOW_PRIVATE', read('WEBHOOKS_ALLOW_PRIVATE') ?? 'false', ['true', 'false']) === 'true',
    creditBuysPaidProviders:
      oneOf('CREDIT_BUYS_PAID_PROVIDERS', read('CREDIT_BUYS_PAID_PROVIDERS') ?? 'false', ['true', 'false']) === 'true',
  }
}

/** Exact origins of web pages; a wildcard would let any page spend a key that it was given. */
function origins(text: string | null): ReadonlySet<string> {
  const entries = text === null ? [] : text.split(',').map((entry) => entry.trim())
  for (const entry of entries)
    if (URL.parse(entry)?.origin !== entry || !/^https?:[^*]+$/.test(entry))
      throw new ConfigError(
        `CORS_ORIGINS must be a comma-separated list of origins, such as https://app.example.com, without a path: not "${entry}"`,
      )
  return new Set(entries)
}

/** A host name that clients on this machine can use in a URL. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new ConfigError(`${name} must be an integer from ${min} to ${max}, not "${text}"`)
  return value
}

const MAX_DAYS = 36_500
/** An event's row keeps its cause from making it again: a key's expiry is announced 3 days before. */
const MIN_EVENT_DAYS = 7

function eventDays(text: string): number {
  const days = wholeNumber('EVENT_DAYS', text, 0, MAX_DAYS)
  if (days > 0 && days < MIN_EVENT_DAYS)
    throw new ConfigError(`EVENT_DAYS must be 0 or at least ${MIN_EVENT_DAYS}, but is ${days}`)
  return days
}

function seconds(name: string, text: string | null): number | null {
  return text === null ? null : wholeNumber(name, text, 0, 86_400)
}

function oneOf<T extends string>(name: string, text: string, values: readonly T[]): T {
  const found = values.find((value) => value === text)
  if (!found) throw new ConfigError(`${name} must be one of ${values.join(', ')}, not "${text}"`)
  return found
}

function optionalOneOf<T extends string>(name: string, text: string | null, values: readonly T[]): T | null {
  return text === null ? null : oneOf(name, text, values)
}

function origin(text: string): string {
  const url = URL.parse(text)
  if (
    !url ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.pathname !== '/' ||
    url.search ||
    url.hash ||
    url.username
  )
    throw new ConfigError(`BASE_URL must be an origin such as https://api.example.com, not "${text}"`)
  return url.origin
}

function databaseUrl(text: string): string {
  if (!/^(file:|libsql:|https?:)./.test(text))
    throw new ConfigError('DATABASE_URL must be a URL such as file:data/gateway.db or libsql://db.example.com')
  return text
}

function secretKey(given: string | null, file: string): string {
  const key = given ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : null)
  if (key === null)
    throw new ConfigError(
      `SECRET_KEY is not set and ${file} does not exist. Set it, or run "bun run up" to create the file`,
    )
  if (Buffer.byteLength(key) < 32)
    throw new ConfigError('SECRET_KEY must be at least 32 bytes long. Create one with: openssl rand -base64 32')
  return key
}

function addresses(name: string, text: string | null): Allowlist | null {
  if (text === null) return null
  const entries = text.split(',').map((entry) => entry.trim())
  const parsed = Allowlist.parse(entries)
  if (!parsed.ok)
    throw new ConfigError(
      `${name} must be addresses or CIDR ranges such as 10.0.0.0/8,::1, but "${parsed.error.entry}" ${parsed.error.rule}`,
    )
  return parsed.value
}
