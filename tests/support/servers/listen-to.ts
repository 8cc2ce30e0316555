import type { compose } from '../../../server/compose'
import { type Listening, listen } from '../../../server/listen'

/** Puts a gateway of this process on a socket: a free port of this machine if no address is given. */
export function listenTo(
  { app, fetch: handle }: Pick<Awaited<ReturnType<typeof compose>>, 'app' | 'fetch'>,
  onFault: (error: unknown) => void = () => undefined,
  address: Parameters<typeof listen>[0] = { host: '127.0.0.1', port: 0 },
): Listening {
  return listen(
    address,
    handle,
    (server) => {
      app.server = server
    },
    onFault,
  )
}
