import { takeDataFolder } from '../../server/compose/data'
import { freePort, listen } from '../../server/listen'
import {
  benchApis,
  benchConfig,
  braveSettings,
  openBenchGateway,
  paymentSettings,
  type SearchSource,
} from './bench-gateway'
import { obey } from './workshop'

/**
 * The gateway under test, started and stopped the way server/main.ts does it: `gateway.ts FOLDER UPSTREAM [bare|double|brave]`. It says
 * `ready PORT MS`, and answers `gc` with its memory after a full collection.
 */
const DRAIN_MS = 30_000

const started = performance.now()
const [folder = '', upstream = '', source = 'bare'] = process.argv.slice(2)
const config = benchConfig(folder, freePort('127.0.0.1'), source === 'brave' ? braveSettings(upstream) : {})
const lock = await takeDataFolder(config)
const gateway = await openBenchGateway(config, upstream, source as SearchSource)
gateway.core.apis.replace(benchApis(folder))
const web = listen(
  config,
  gateway.fetch,
  (server) => {
    gateway.app.server = server
  },
  (error) => process.stderr.write(`request failed: ${error}\n`),
)
process.on('SIGTERM', async () => {
  gateway.stopping.drain()
  await web.stop(DRAIN_MS)
  await gateway.close()
  lock.release()
  process.exit(0)
})
if (paymentSettings(folder)) await gateway.rail.open()
process.stdout.write(`ready ${web.port} ${Math.round(performance.now() - started)}\n`)
await obey({
  gc() {
    Bun.gc(true)
    return `${process.memoryUsage().heapUsed}`
  },
})
