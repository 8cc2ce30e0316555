import { chmodSync, rmSync } from 'node:fs'

/** The longest an idle connection is kept, in seconds; above every deadline of an upstream. */
const IDLE_SECONDS = 60

export interface Listening {
  readonly port: number
  /** Resolves when every request that had begun has its answer, or when `mostMs` are over. Takes no new connection. */
  stop(mostMs: number): Promise<void>
}

/** Serves `handle` on a port, and counts what is under way, so that a stop can wait for it. */
export function listen(
  where: { host: string; port: number; idleSeconds?: number },
  handle: (request: Request) => Response | Promise<Response>,
  attach: (server: Bun.Server<undefined>) => void,
  onFault: (error: unknown) => void,
): Listening {
  let underWay = 0
  let lastLeft: (() => void) | null = null
  const server = Bun.serve({
    hostname: where.host,
    port: where.port,
    idleTimeout: where.idleSeconds ?? IDLE_SECONDS,
    // Bodies are read as streams and cut at the route's own limit; Bun's limit would answer without a body or headers of ours.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request) {
      underWay++
      try {
        return await handle(request)
      } finally {
        if (--underWay === 0) lastLeft?.()
      }
    },
    error(error) {
      onFault(error)
      const body = {
        error: { type: 'api_error', code: 'internal_error', message: 'Something broke on our side.', request_id: null },
      }
      return Response.json(body, { status: 500, headers: { 'x-content-type-options': 'nosniff' } })
    },
  })
  attach(server)
  return {
    port: server.port ?? where.port,
    async stop(mostMs) {
      const finished = underWay === 0 ? Promise.resolve() : new Promise<void>((resolve) => (lastLeft = resolve))
      await Promise.race([finished, Bun.sleep(mostMs)])
      await Promise.race([server.stop(), Bun.sleep(200)])
      await server.stop(true)
    },
  }
}

/** Serves the operator's commands on a socket file that only this user may open. */
export function listenControl(
  path: string,
  handle: (request: Request) => Promise<Response>,
): { stop(): Promise<void> } {
  rmSync(path, { force: true })
  const server = Bun.serve({ unix: path, fetch: handle })
  chmodSync(path, 0o600)
  return {
    async stop() {
      await server.stop(true)
      rmSync(path, { force: true })
    },
  }
}

/** A port that is free now, for `PORT=0`: the addresses that go out must know it before anything listens. */
export function freePort(host: string): number {
  const probe = Bun.serve({ hostname: host, port: 0, fetch: () => new Response() })
  const port = probe.port ?? 0
  void probe.stop(true)
  return port
}
