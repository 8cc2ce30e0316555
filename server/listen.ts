import { chmodSync, rmSync } from 'node:fs'
import { isIP } from 'node:net'

/** How long an idle connection stays open, in seconds. Longer than every upstream deadline. */
const IDLE_SECONDS = 60

/** Time for the last responses after streams were aborted, in milliseconds. */
export const LAST_RESPONSES_MS = 2_000

export interface Listening {
  readonly port: number
  /** From here on each response closes its connection. */
  retireConnections(): void
  /** Undoes it. */
  keepConnections(): void
  /** Accepts no more connections, and closes idle ones. Requests in progress go on. */
  closePort(): void
  /** Closes the port. Resolves when all requests in progress have finished, after `maxMs` at the latest. */
  stop(maxMs: number): Promise<void>
}

/** Serves `handle` on a port, and counts requests in progress, so that `stop` can wait for them. */
export function listen(
  address: {
    host: string
    port: number
    idleSeconds?: number
    /** Before the names of its settings. */
    prefix?: string
    tls?: { readonly cert: string; readonly key: string } | null
    /** Whether a successor may open the same port while this process has it. */
    takeOver?: boolean
  },
  handle: (request: Request) => Response | Promise<Response>,
  attach: (server: Bun.Server<undefined>) => void,
  onFault: (error: unknown) => void,
): Listening {
  let inProgress = 0
  let isRetiring = false
  let onIdle: (() => void) | null = null
  // Shared by all requests, so that none needs an async frame of its own here.
  const end = () => {
    if (--inProgress === 0) onIdle?.()
  }
  const sent = (response: Response): Response => {
    if (isRetiring) response.headers.set('connection', 'close')
    return response
  }
  const ended = (response: Response): Response => {
    end()
    return sent(response)
  }
  const broken = (error: unknown): never => {
    end()
    throw error
  }
  const server = openPort(
    address,
    () =>
      Bun.serve({
        hostname: address.host,
        port: address.port,
        reusePort: address.takeOver ?? false,
        ...(address.tls && { tls: address.tls }),
        idleTimeout: address.idleSeconds ?? IDLE_SECONDS,
        // Bodies are streamed and limited per route. Bun's own limit would respond without our body and headers.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        fetch(request) {
          const answer = handle(request)
          if (!(answer instanceof Promise)) return sent(answer)
          inProgress++
          return answer.then(ended, broken)
        },
        error(error) {
          onFault(error)
          const body = {
            error: {
              type: 'api_error',
              code: 'internal_error',
              message: 'Something broke on our side.',
              request_id: null,
            },
          }
          return Response.json(body, { status: 500, headers: { 'x-content-type-options': 'nosniff' } })
        },
      }),
    address.prefix,
  )
  attach(server)
  return {
    port: server.port ?? address.port,
    retireConnections() {
      isRetiring = true
    },
    keepConnections() {
      isRetiring = false
    },
    closePort: () => void server.stop(),
    async stop(maxMs) {
      const idle = inProgress === 0 ? Promise.resolve() : new Promise<void>((resolve) => (onIdle = resolve))
      await Promise.race([idle, Bun.sleep(maxMs)])
      await Promise.race([server.stop(), Bun.sleep(200)])
      await server.stop(true)
    },
  }
}

/** Closes the port and ends the calls that it took: they and their streams have `drainMs`, then streams are aborted and answered. */
export async function finishCalls(
  web: Listening,
  calls: { drain(): void; streamsEnded(maxMs: number): Promise<void> },
  drainMs: number,
): Promise<void> {
  web.closePort()
  calls.drain()
  const until = performance.now() + drainMs
  await calls.streamsEnded(drainMs)
  await web.stop(Math.max(LAST_RESPONSES_MS, until - performance.now()))
}

/** Serves the metrics on a listener of their own. */
export function listenMetrics(
  address: { readonly host: string; readonly port: number },
  handle: (request: Request) => Promise<Response>,
): { readonly port: number; stop(): Promise<void> } {
  const { host, port } = address
  const server = openPort(address, () => Bun.serve({ hostname: host, port, fetch: handle }), 'METRICS_')
  return { port: server.port ?? address.port, stop: () => server.stop(true) }
}

/** The control socket in the data folder. Access to the folder is what makes a user an operator here. */
export const CONTROL_SOCKET = 'control.sock'

/** Serves operators on a socket file that only this user can open. */
export function listenControl(
  path: string,
  handle: (request: Request) => Promise<Response>,
): { stop(): Promise<void> } {
  rmSync(path, { force: true })
  const server = Bun.serve({
    unix: path,
    fetch: handle,
    // A command may take long before it answers and between its pieces, and its caller is this user. A timeout that is set for one
    // request ends with the first piece of its answer. Bun's types do not have the option for sockets.
    ...({ idleTimeout: 0 } as object),
  })
  chmodSync(path, 0o600)
  return {
    async stop() {
      await server.stop(true)
      rmSync(path, { force: true })
    },
  }
}

/**
 * The port itself, or a free one for 0, because URLs in responses need it before the server listens. Throws if another process has it, also
 * where both would share it.
 */
export function freePort(host: string, wanted = 0): number {
  const probe = openPort({ host, port: wanted }, () =>
    Bun.serve({ hostname: host, port: wanted, fetch: () => new Response() }),
  )
  const port = probe.port ?? 0
  void probe.stop(true)
  return port
}

/** A port cannot be opened. Its message is the one line that a failed start prints. */
export class PortError extends Error {}

interface Address {
  readonly host: string
  readonly port: number
}

/** Opens a port by `serve`. Throws a `PortError` that names the setting that is wrong; `prefix` is `METRICS_` for theirs. */
export function openPort<T>({ host, port }: Address, serve: () => T, prefix = ''): T {
  try {
    return serve()
  } catch (failure) {
    const code = failure instanceof Error && 'code' in failure ? failure.code : ''
    // For a name that does not resolve Bun reports whatever error came before: EADDRINUSE, EINVAL or ENOENT.
    const isOtherName = isIP(host) === 0 && host !== 'localhost' && code !== 'EACCES'
    if (code === 'EADDRNOTAVAIL' || isOtherName)
      throw new PortError(
        `${prefix}HOST=${host} is not an address of this machine. Use one, such as ${prefix}HOST=127.0.0.1, or 0.0.0.0 for all`,
      )
    if (code === 'EADDRINUSE')
      throw new PortError(
        `${prefix}PORT=${port} is in use by another process on ${host}. Stop it, or set another port, such as ${prefix}PORT=${port + 1}`,
      )
    if (code === 'EACCES')
      throw new PortError(
        `${prefix}PORT=${port} needs privileges that this user does not have. Set one above 1023, such as ${prefix}PORT=3000, and put a proxy in front`,
      )
    throw failure
  }
}
