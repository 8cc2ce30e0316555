import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A wire between two processes that a test cuts, stalls, or lets deliver in small pieces. Loopback only. */
export async function openTcpProxy(targetPort: number) {
  const pairs = new Set<{ readonly from: Socket; readonly to: Socket }>()
  let pieces: number | null = null
  let isStalled = false
  let isMute = false
  let isRefusing = false
  const server = createServer((from) => {
    if (isRefusing) return void from.resetAndDestroy()
    const to = connect(targetPort, '127.0.0.1')
    const pair = { from, to }
    pairs.add(pair)
    if (isStalled) for (const socket of [from, to]) socket.pause()
    if (isMute) to.pause()
    pass(from, to)
    pass(to, from)
    for (const socket of [from, to])
      socket.on('close', () => {
        pairs.delete(pair)
        from.destroy()
        to.destroy()
      })
  })
  const pass = (from: Socket, to: Socket) => {
    // A broken connection closes too.
    from.on('error', () => undefined)
    from.on('data', (bytes: Buffer) => {
      if (pieces === null) return void to.write(bytes)
      for (let at = 0; at < bytes.length; at += pieces) to.write(bytes.subarray(at, at + pieces))
    })
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    /** How many connections are open. */
    get open() {
      return pairs.size
    },
    /** Breaks all connections. New ones pass. */
    cut() {
      for (const { from, to } of pairs) {
        from.resetAndDestroy()
        to.resetAndDestroy()
      }
    },
    /** Breaks all connections, and new ones, until `flow`. */
    refuse() {
      isRefusing = true
      this.cut()
    },
    /** From here on nothing arrives on either side, on old connections and, unless `isHalfOpen`, on new ones. */
    stall({ isHalfOpen = false } = {}) {
      isStalled = !isHalfOpen
      for (const { from, to } of pairs) for (const socket of [from, to]) socket.pause()
    },
    /** From here on the server gets what it is sent, and none of its answers arrives. */
    mute() {
      isMute = true
      for (const { to } of pairs) to.pause()
    },
    /** Delivers what was held back, and what follows. */
    flow() {
      isStalled = false
      isMute = false
      isRefusing = false
      for (const { from, to } of pairs) for (const socket of [from, to]) socket.resume()
    },
    /** Delivers at most so many bytes at once. */
    splitInto(bytes: number) {
      pieces = bytes
    },
    async close() {
      this.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
