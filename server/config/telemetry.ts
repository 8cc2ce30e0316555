import { isLoopbackHost } from '../core/credentials/address'
import { ConfigError } from './config-error'
import { choice, group, integer, type Read, text } from './schema/setting'

/** Where `GET /metrics` is served. */
export interface MetricsSettings {
  /** The listener of its own; null for none. */
  readonly listener: { readonly host: string; readonly port: number } | null
  /** Required on the main port, and by a listener that others can reach. */
  readonly token: string | null
}

const MIN_TOKEN = 32

export const OBSERVING = group('Log and metrics', '', {
  LOG_LEVEL: choice({
    default: 'info',
    values: ['debug', 'info', 'warn', 'error'],
    doc: '`debug`, `info`, `warn` or `error`',
  }),
  LOG_FILE: text({
    otherwise: 'stderr',
    example: '/var/log/gateway.log',
    doc: 'File of the log. `SIGHUP` opens it by its name again, after a rotation',
  }),
  LOG_FORMAT: choice({
    default: 'text',
    values: ['text', 'json'],
    doc: '`text`, or `json` for one JSON object per line',
  }),
  METRICS_PORT: integer({
    default: null,
    min: 0,
    max: 65_535,
    otherwise: 'no metrics',
    doc: 'Serves Prometheus metrics at `/metrics` on a port of their own ([more](operating/monitoring.md#metrics))',
  }),
  METRICS_HOST: text({
    default: '127.0.0.1',
    doc: 'Address of that port. One that other machines can reach needs `METRICS_TOKEN`',
  }),
  METRICS_TOKEN: text({
    secret: true,
    is: new RegExp(`^[\\x21-\\x7e]{${MIN_TOKEN},}$`),
    rule: `at least ${MIN_TOKEN} characters without spaces. Create one with: openssl rand -hex 32`,
    doc: 'Serves them at `/metrics` on the main port too, with `Authorization: Bearer` and this token of at least 32 characters',
  }),
})

/** Reads `METRICS_PORT`, `METRICS_HOST` and `METRICS_TOKEN`. Null if there are no metrics. */
export function metricsSettings(read: Read, mainPort: number): MetricsSettings | null {
  const { METRICS_PORT, METRICS_HOST, METRICS_TOKEN } = OBSERVING.settings
  const [port, host, token] = [METRICS_PORT.of(read), METRICS_HOST.of(read), METRICS_TOKEN.of(read)]
  if (port === null) return token === null ? null : { listener: null, token }
  if (port === mainPort && port !== 0)
    throw new ConfigError('METRICS_PORT must not be PORT. For metrics on the main port, set METRICS_TOKEN only')
  if (!isLoopbackHost(host) && token === null)
    throw new ConfigError(
      `METRICS_HOST is ${host}, which other machines can reach. Set METRICS_TOKEN too, or use METRICS_HOST=127.0.0.1`,
    )
  return { listener: { host, port }, token }
}
