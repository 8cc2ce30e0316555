import type { Address } from '../../core/credentials/address'
import type { AuthenticatedCall, Credential } from '../../pipeline/call'

/**
 * A request of our own making: MCP and the playground call a route as if from outside. To be deleted when both call the
 * pipeline directly.
 */
export class InnerRequest extends Request {
  readonly from: InnerOrigin

  constructor(url: URL, init: RequestInit, from: InnerOrigin) {
    super(url, init)
    this.from = from
  }
}

export interface InnerOrigin {
  /** Of the request that it is a part of. */
  readonly address: Address
  readonly credential: Credential
  /** Set when the caller was judged and counted there; what it may do is judged again, for the new address. */
  readonly authenticated: AuthenticatedCall | null
}

/** The way back into the app, known once the app is built. */
export class InnerCalls {
  private way: ((request: Request) => Promise<Response>) | null = null

  goTo(way: (request: Request) => Promise<Response>): void {
    this.way = way
  }

  call(request: InnerRequest): Promise<Response> {
    if (!this.way) throw new Error('the app is not built yet')
    return this.way(request)
  }
}
