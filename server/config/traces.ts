import { ConfigError } from './config-error'

/** How the standard variables of OpenTelemetry name a sampler. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** Where traces go, from the standard variables of OpenTelemetry. */
export interface TraceSettings {
  readonly url: string
  /** May contain secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** `service.name` and others. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: (typeof SAMPLERS)[number]
  readonly ratio: number
  readonly maxQueue: number
  readonly maxBatch: number
  readonly delayMs: number
  /** Whether upstreams get `traceparent`. */
  readonly toUpstreams: boolean
}

type Read = (name: string) => string | null

const SERVICE = 'paid-api-gateway'
const MAX_QUEUE = 65_536

/** Null while traces are off: without an endpoint, or switched off by `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER=none`. */
export function traceSettings(read: Read): TraceSettings | null {
  const url = endpoint(read)
  const exporter = read('OTEL_TRACES_EXPORTER') ?? 'otlp'
  if (!['otlp', 'none'].includes(exporter)) throw new ConfigError('OTEL_TRACES_EXPORTER must be otlp or none')
  const toUpstreams = flag(read, 'TRACES_TO_UPSTREAMS')
  if (url === null || exporter === 'none' || read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null
  protocolIsHttp(read)
  const headers = pairs('OTEL_EXPORTER_OTLP_HEADERS', read('OTEL_EXPORTER_OTLP_HEADERS'))
  const own = pairs('OTEL_EXPORTER_OTLP_TRACES_HEADERS', read('OTEL_EXPORTER_OTLP_TRACES_HEADERS'))
  const resource = pairs('OTEL_RESOURCE_ATTRIBUTES', read('OTEL_RESOURCE_ATTRIBUTES'))
  const name = read('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? SERVICE
  const maxQueue = integer(read, 'OTEL_BSP_MAX_QUEUE_SIZE', 2048, MAX_QUEUE)
  const timeout = read('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT')
    ? 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'
    : 'OTEL_EXPORTER_OTLP_TIMEOUT'
  return {
    url,
    headers: { ...headers, ...own },
    timeoutMs: integer(read, timeout, 10_000, 600_000),
    resource: { ...resource, 'service.name': name },
    ...sampling(read),
    maxQueue,
    maxBatch: Math.min(maxQueue, integer(read, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, MAX_QUEUE)),
    delayMs: integer(read, 'OTEL_BSP_SCHEDULE_DELAY', 5_000, 600_000),
    toUpstreams,
  }
}

function endpoint(read: Read): string | null {
  const own = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const shared = read('OTEL_EXPORTER_OTLP_ENDPOINT')
  const text = own ?? shared
  if (text === null) return null
  const url = URL.parse(text)
  // It may contain a password, so the message does not repeat it.
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://127.0.0.1:4318')
  if (own !== null) return url.href
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url.href
}

function protocolIsHttp(read: Read): void {
  const name = 'OTEL_EXPORTER_OTLP_PROTOCOL'
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? read(name) ?? 'http/json'
  if (protocol !== 'http/json')
    throw new ConfigError(`${name} must be http/json, which collectors take on port 4318, not "${protocol}"`)
}

function sampling(read: Read): Pick<TraceSettings, 'sampler' | 'ratio'> {
  const text = read('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const sampler = SAMPLERS.find((one) => one === text)
  if (!sampler) throw new ConfigError(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(', ')}, not "${text}"`)
  const argument = read('OTEL_TRACES_SAMPLER_ARG') ?? '1'
  const ratio = /^\d*\.?\d+$/.test(argument) ? Number(argument) : Number.NaN
  if (!(ratio >= 0 && ratio <= 1))
    throw new ConfigError(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "${argument}"`)
  return { sampler, ratio }
}

/** `name=value,name=value`, with values in URL encoding. */
function pairs(name: string, text: string | null): Record<string, string> {
  const found: Record<string, string> = {}
  for (const part of (text ?? '').split(',').filter((one) => one.trim() !== '')) {
    const [key, ...rest] = part.split('=')
    const value = decoded(rest.join('=').trim())
    if (!key?.trim() || rest.length === 0 || value === null || /[\r\n\0]/.test(value))
      throw new ConfigError(`${name} must be a list such as name=value,name=value, with values in URL encoding`)
    found[key.trim().toLowerCase()] = value
  }
  return found
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function integer(read: Read, name: string, fallback: number, max: number): number {
  const text = read(name)
  if (text === null) return fallback
  const value = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= 1 && value <= max)) throw new ConfigError(`${name} must be an integer from 1 to ${max}, not "${text}"`)
  return value
}

function flag(read: Read, name: string): boolean {
  const text = read(name) ?? 'false'
  if (text !== 'true' && text !== 'false') throw new ConfigError(`${name} must be one of true, false, not "${text}"`)
  return text === 'true'
}
