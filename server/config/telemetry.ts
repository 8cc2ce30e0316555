import { isLoopbackHost } from '../core/credentials/address'
import { ConfigError } from './config-error'

/** Where `GET /metrics` is served. */
export interface MetricsSettings {
  /** The listener of its own; null for none. */
  readonly listener: { readonly host: string; readonly port: number } | null
  /** Required on the main port, and by a listener that others can reach. */
  readonly token: string | null
}

const MIN_TOKEN = 32

/** Reads `METRICS_PORT`, `METRICS_HOST` and `METRICS_TOKEN`. Null if there are no metrics. */
export function metricsSettings(read: (name: string) => string | null, mainPort: number): MetricsSettings | null {
  const [portText, host, token] = [read('METRICS_PORT'), read('METRICS_HOST') ?? '127.0.0.1', read('METRICS_TOKEN')]
  if (token !== null && !new RegExp(`^[\\x21-\\x7e]{${MIN_TOKEN},}$`).test(token))
    throw new ConfigError(
      `METRICS_TOKEN must be at least ${MIN_TOKEN} characters without spaces. Create one with: openssl rand -hex 32`,
    )
  if (portText === null) return token === null ? null : { listener: null, token }
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) : Number.NaN
  if (!(port >= 0 && port <= 65535))
    throw new ConfigError(`METRICS_PORT must be an integer from 0 to 65535, not "${portText}"`)
  if (port === mainPort && port !== 0)
    throw new ConfigError('METRICS_PORT must not be PORT. For metrics on the main port, set METRICS_TOKEN only')
  if (!isLoopbackHost(host) && token === null)
    throw new ConfigError(
      `METRICS_HOST is ${host}, which other machines can reach. Set METRICS_TOKEN too, or use METRICS_HOST=127.0.0.1`,
    )
  return { listener: { host, port }, token }
}
