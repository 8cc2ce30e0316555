/** One request as it came over the wire. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  readonly body: string
}

type Answering = (received: Received) => Response | Promise<Response>

/** Somebody else's server, on a port of its own: it notes what it is asked, and a test may put words in its mouth. */
export class HttpDouble {
  readonly received: Received[] = []
  /** Its answer in place of the usual one. */
  instead: Answering | null = null
  readonly #server: Bun.Server<undefined>

  constructor(answer: Answering) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const url = new URL(request.url)
        const received: Received = {
          method: request.method,
          path: url.pathname,
          query: url.searchParams,
          headers: request.headers,
          body: await request.text(),
        }
        this.received.push(received)
        return (this.instead ?? answer)(received)
      },
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  get port(): number {
    return this.#server.port ?? 0
  }

  /** The last request. */
  get last(): Received {
    const last = this.received.at(-1)
    if (!last) throw new Error('nothing was asked')
    return last
  }

  reset(): void {
    this.received.length = 0
    this.instead = null
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }
}

/** A server that sends these bytes for every request and hangs up: an answer cut in the middle, or none. */
export function cutDouble(bytes: string): { readonly url: string; stop(): void } {
  const socket = Bun.listen({
    port: 0,
    hostname: '127.0.0.1',
    socket: {
      data(connection) {
        connection.end(bytes)
      },
    },
  })
  return { url: `http://127.0.0.1:${socket.port}`, stop: () => socket.stop(true) }
}
