import { openHarness } from '../harness'
import { freePort } from './free-port'
import { listenTo } from './listen-to'

/** The gateway of the harness on a socket of its own, for programs outside of this process; the true clock. */
export async function openServedGateway(env: Record<string, string> = {}) {
  const port = await freePort()
  const gateway = await openHarness({ running: true, env: { PORT: String(port), ...env } })
  const web = listenTo(gateway.gateway, (error) => gateway.logged.push(String(error)), gateway.config)
  return {
    ...gateway,
    origin: gateway.config.baseUrl,
    async close() {
      await web.stop(0)
      await gateway.close()
    },
  }
}
