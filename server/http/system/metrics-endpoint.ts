import { createHash, timingSafeEqual } from 'node:crypto'
import { isLoopbackHost } from '../../core/credentials/address'

/** The served metrics. */
interface MetricsText {
  text(): Promise<string>
  readonly contentType: string
}

interface MetricsEndpointOptions {
  readonly metrics: MetricsText
  /** SHA-256 is compared, so that the time says nothing about the token. Null: there is none. */
  readonly token: string | null
  /** Whether the listener of its own answers only this machine, and then without a token. */
  readonly isLoopback: boolean
}

const PATH = '/metrics'

/** Serves `GET /metrics` to the operator. Everybody else gets what an unknown path answers. */
export class MetricsEndpoint {
  private readonly options: MetricsEndpointOptions
  private readonly digest: Buffer | null

  constructor(options: MetricsEndpointOptions) {
    this.options = options
    this.digest = options.token === null ? null : sha256(options.token)
  }

  /** The answer on the main port; null for a request that is not for it, or without the token. */
  onMainPort(request: Request): Promise<Response> | null {
    // Every request of the gateway passes here, so its URL is not parsed.
    if (!request.url.includes(PATH) || request.method !== 'GET') return null
    return new URL(request.url).pathname === PATH && this.hasToken(request) ? this.answer() : null
  }

  /** The answer of the listener of its own. A web page that resolves its own name to this machine gets nothing. */
  async onOwnPort(request: Request): Promise<Response> {
    const { pathname, hostname } = URL.parse(request.url) ?? { pathname: '', hostname: '' }
    const isOperator = this.options.isLoopback ? isLoopbackHost(hostname) : this.hasToken(request)
    if (request.method === 'GET' && pathname === PATH && isOperator) return this.answer()
    return new Response('Not found\n', { status: 404, headers: { 'content-type': 'text/plain; charset=utf-8' } })
  }

  private async answer(): Promise<Response> {
    const { metrics } = this.options
    const headers = { 'content-type': metrics.contentType, 'cache-control': 'no-store' }
    return new Response(await metrics.text(), { headers })
  }

  private hasToken(request: Request): boolean {
    const sent = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    return this.digest !== null && sent !== undefined && timingSafeEqual(sha256(sent), this.digest)
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
