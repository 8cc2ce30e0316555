import { listen } from '../../../server/listen'
import { openHarness } from '../harness'
import { freePort } from './free-port'

/** The gateway of the harness on a socket of its own, for programs outside of this process; the true clock. */
export async function openServedGateway(
  env: Record<string, string> = {},
  more: { readonly idleSeconds?: number } = {},
) {
  const port = await freePort()
  const gateway = await openHarness({ running: true, env: { PORT: String(port), ...env } })
  const web = listen(
    { ...gateway.config, ...more },
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
