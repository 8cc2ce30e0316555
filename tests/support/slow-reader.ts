/** More than the kernel takes of an unread answer. */
export const UNREAD_BYTES = 12 * 1024 * 1024

/** A caller on a socket of its own that sends this request, and reads nothing of the answer until it is told to. */
export async function slowReader(origin: string, path: string, { method = 'GET', headers, body = '' }: SlowRequest) {
  const { hostname, host, port } = new URL(origin)
  const closed = Promise.withResolvers<void>()
  const parts: Uint8Array[] = []
  let length = 0
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_socket, part) {
        parts.push(part.slice())
        length += part.length
      },
      close: () => closed.resolve(),
    },
  })
  socket.pause()
  const all = { host, connection: 'close', 'content-length': String(body.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  return {
    read: () => socket.resume(),
    /** How many bytes came, the head and the frames of the chunks included. */
    came: () => length,
    /** The answer, once its connection has closed. */
    async answer(): Promise<SlowAnswer> {
      await closed.promise
      const whole = Buffer.concat(parts)
      const start = whole.indexOf('\r\n\r\n') + 4
      const head = whole.toString('latin1', 0, start)
      return {
        headers: new Headers(head.split('\r\n').flatMap((line) => pairOf(line))),
        ...unchunked(whole.subarray(start)),
      }
    },
  }
}

interface SlowRequest {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

interface SlowAnswer {
  readonly headers: Headers
  readonly text: string
  /** Whether the connection closed before the answer ended. */
  readonly isCut: boolean
}

function pairOf(line: string): [string, string][] {
  const colon = line.indexOf(': ')
  return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 2)]]
}

function unchunked(body: Buffer): { readonly text: string; readonly isCut: boolean } {
  const texts: string[] = []
  for (let at = 0; ; ) {
    const line = body.indexOf('\r\n', at)
    const size = line < 0 ? Number.NaN : Number.parseInt(body.toString('latin1', at, line), 16)
    if (!(size > 0)) return { text: texts.join(''), isCut: size !== 0 }
    texts.push(body.toString('utf8', line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
