import { obey } from './workshop'

/**
 * The least that a process in the way can do: it passes the bytes of each connection on, both ways, without reading them. `relay.ts PORT`
 * says `ready PORT`.
 */
interface End {
  socket: Bun.Socket<End> | null
  other: End
  /** What the socket has not taken yet. */
  unsent: Buffer
}

const to = Number(process.argv[2])
const NOTHING = Buffer.alloc(0)

function send(end: End, bytes: Buffer): void {
  const all = end.unsent.byteLength > 0 ? Buffer.concat([end.unsent, bytes]) : bytes
  const taken = Math.max(0, end.socket?.write(all) ?? 0)
  // What was read is valid only now.
  end.unsent = taken === all.byteLength ? NOTHING : Buffer.from(all.subarray(taken))
}

const handlers: Bun.SocketHandler<End> = {
  data: ({ data }, bytes) => send(data.other, bytes),
  drain: ({ data }) => send(data, NOTHING),
  close: ({ data }) => void data.other.socket?.end(),
  error: ({ data }) => void data.other.socket?.end(),
}

const server = Bun.listen<End>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    ...handlers,
    open(socket) {
      const near: End = { socket, other: null as unknown as End, unsent: NOTHING }
      const far: End = { socket: null, other: near, unsent: NOTHING }
      near.other = far
      socket.data = near
      socket.setNoDelay(true)
      const open = (opened: Bun.Socket<End>) => {
        far.socket = opened
        opened.setNoDelay(true)
        send(far, NOTHING)
      }
      void Bun.connect<End>({ hostname: '127.0.0.1', port: to, data: far, socket: { ...handlers, open } })
    },
  },
})
process.stdout.write(`ready ${server.port}\n`)
await obey({})
