/** Below what systems give to port 0 and to connections (from 32,768 on Linux and 49,152 on macOS), so that only another test can want one. */
const FIRST = 20_000
const COUNT = 12_000

/**
 * A TCP port of 127.0.0.1 without a listener, which no other process of the tests gets while this one lives: for a program that opens it
 * later, or closes and opens it again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if ((await isReserved(port)) && isUnused(port)) return port
  }
}

/** By a UDP port that lies `COUNT` below: the program may open its own for TCP, and for UDP too, as Caddy does for HTTP/3. */
async function isReserved(port: number): Promise<boolean> {
  try {
    const reservation = await Bun.udpSocket({ hostname: '127.0.0.1', port: port - COUNT })
    reservation.unref()
    return true
  } catch {
    return false
  }
}

function isUnused(port: number): boolean {
  try {
    void Bun.serve({ hostname: '127.0.0.1', port, fetch: () => new Response() }).stop(true)
    return true
  } catch {
    return false
  }
}
