import { createServer } from 'node:net'
import { listen } from '../../server/listen'
import { openHarness } from './harness'

/** The gateway of the harness on a socket of its own, for programs outside of this process; the true clock. */
export async function openServedGateway(env: Record<string, string> = {}) {
  const port = await freePort()
  const gateway = await openHarness({ running: true, env: { PORT: String(port), ...env } })
  const web = listen(
    gateway.config,
    gateway.gateway.fetch,
    (server) => {
      gateway.gateway.app.server = server
    },
    (error) => gateway.logged.push(String(error)),
  )
  return {
    ...gateway,
    origin: gateway.config.baseUrl,
    async close() {
      await web.stop(0)
      await gateway.close()
    },
  }
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port'))))
    })
  })
}
