import { choice, flag, group, httpUrl, integer, invalidSetting, type Read, setting, text } from './schema/setting'

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

const SERVICE = 'paid-api-gateway'
const MAX_QUEUE = 65_536
const MAX_MS = 600_000

/** They may contain secrets: an endpoint in its password, headers in their values. */
const ENDPOINT = { default: null, secret: true, example: 'http://127.0.0.1:4318' } as const
const HEADERS = { default: null, secret: true, example: 'authorization=Bearer%20...' } as const
const protocol = choice({
  default: null,
  otherwise: '`http/json`',
  values: ['http/json'],
  doc: 'Only `http/json`, which collectors take on port 4318',
})

export const TRACES = group(
  'Traces',
  'The standard variables of OpenTelemetry. Sends traces to a collector by OTLP over HTTP ([more](operating/monitoring.md#traces)).',
  {
    OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl({
      ...ENDPOINT,
      otherwise: 'no traces',
      doc: 'Base URL of the collector',
    }),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl({ ...ENDPOINT, doc: 'Its whole URL for traces' }),
    OTEL_EXPORTER_OTLP_HEADERS: setting(
      { ...HEADERS, doc: 'Headers for it, in URL encoding' },
      { type: 'string' },
      pairs,
    ),
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: setting(
      { ...HEADERS, doc: 'Headers for traces; they take precedence' },
      { type: 'string' },
      pairs,
    ),
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_TIMEOUT: integer({ default: 10_000, min: 1, max: MAX_MS, doc: 'Milliseconds per request' }),
    OTEL_TRACES_EXPORTER: choice({ default: 'otlp', values: ['otlp', 'none'], doc: '`none` turns traces off' }),
    OTEL_SDK_DISABLED: text({ default: 'false', doc: '`true` turns traces off' }),
    OTEL_SERVICE_NAME: text({ otherwise: `\`${SERVICE}\``, doc: '`service.name` of the traces' }),
    OTEL_RESOURCE_ATTRIBUTES: setting(
      {
        default: null,
        example: 'deployment.environment=production',
        doc: 'More attributes of the service, in URL encoding',
      },
      { type: 'string' },
      pairs,
    ),
    OTEL_TRACES_SAMPLER: choice({
      default: 'parentbased_always_on',
      values: SAMPLERS,
      doc: 'The traced calls: `always_on`, `always_off`, `traceidratio`, or `parentbased_...` of one of them',
    }),
    OTEL_TRACES_SAMPLER_ARG: setting(
      { default: '1', example: '0.1', doc: 'The share of `traceidratio`, 0 to 1' },
      { anyOf: [{ type: 'number' }, { type: 'string' }] },
      ratio,
    ),
    OTEL_BSP_MAX_QUEUE_SIZE: integer({ default: 2048, min: 1, max: MAX_QUEUE, doc: 'Spans that wait at most' }),
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer({ default: 512, min: 1, max: MAX_QUEUE, doc: 'Spans per request' }),
    OTEL_BSP_SCHEDULE_DELAY: integer({
      default: 5_000,
      min: 1,
      max: MAX_MS,
      doc: 'Milliseconds between two requests',
    }),
    TRACES_TO_UPSTREAMS: flag({
      default: false,
      doc: 'Whether upstreams of models, imported APIs and search get `traceparent` of traced calls',
    }),
  },
)

/** Null while traces are off: without an endpoint, or switched off by `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER=none`. */
export function traceSettings(read: Read): TraceSettings | null {
  const { settings } = TRACES
  const url = endpoint(read)
  const exporter = settings.OTEL_TRACES_EXPORTER.of(read)
  const toUpstreams = settings.TRACES_TO_UPSTREAMS.of(read)
  if (url === null || exporter === 'none' || settings.OTEL_SDK_DISABLED.of(read).toLowerCase() === 'true') return null
  // Only one value is possible: read to refuse another.
  if (settings.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL.of(read) === null) settings.OTEL_EXPORTER_OTLP_PROTOCOL.of(read)
  const resource = settings.OTEL_RESOURCE_ATTRIBUTES.of(read) ?? {}
  const maxQueue = settings.OTEL_BSP_MAX_QUEUE_SIZE.of(read)
  return {
    url,
    headers: {
      ...settings.OTEL_EXPORTER_OTLP_HEADERS.of(read),
      ...settings.OTEL_EXPORTER_OTLP_TRACES_HEADERS.of(read),
    },
    timeoutMs: settings.OTEL_EXPORTER_OTLP_TIMEOUT.of(read),
    resource: {
      ...resource,
      'service.name': settings.OTEL_SERVICE_NAME.of(read) ?? resource['service.name'] ?? SERVICE,
    },
    sampler: settings.OTEL_TRACES_SAMPLER.of(read),
    ratio: settings.OTEL_TRACES_SAMPLER_ARG.of(read),
    maxQueue,
    maxBatch: Math.min(maxQueue, settings.OTEL_BSP_MAX_EXPORT_BATCH_SIZE.of(read)),
    delayMs: settings.OTEL_BSP_SCHEDULE_DELAY.of(read),
    toUpstreams,
  }
}

function endpoint(read: Read): string | null {
  const own = TRACES.settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.of(read)
  if (own !== null) return own
  const base = TRACES.settings.OTEL_EXPORTER_OTLP_ENDPOINT.of(read)
  if (base === null) return null
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url.href
}

function ratio(given: string, name: string): number {
  const value = /^\d*\.?\d+$/.test(given) ? Number(given) : Number.NaN
  if (!(value >= 0 && value <= 1)) throw invalidSetting(name, 'a number from 0 to 1', given)
  return value
}

/** `name=value,name=value`, with values in URL encoding. */
function pairs(given: string, setting: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const part of given.split(',').filter((one) => one.trim() !== '')) {
    const [key, ...rest] = part.split('=')
    const value = decoded(rest.join('=').trim())
    if (!key?.trim() || rest.length === 0 || value === null || /[\r\n\0]/.test(value))
      throw invalidSetting(setting, 'a list such as name=value,name=value, with values in URL encoding', null)
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
