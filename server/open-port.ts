import { isIP } from 'node:net'

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
