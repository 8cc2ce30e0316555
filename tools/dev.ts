import { join, resolve } from 'node:path'
import { needsSecretFile, prepareDataFolder } from '../server/setup/data-folder'

/**
 * `bun run dev`: the server, restarted when its files change, and the dashboard with hot reloading. Open the URL that Vite prints; it
 * forwards API calls to the server. Both stop together.
 */
const ROOT = join(import.meta.dirname, '..')
const port = process.env['PORT'] ?? '3000'
const webPort = process.env['WEB_PORT'] ?? '5173'

await prepareDataFolder(resolve(ROOT, process.env['DATA_DIR'] || 'data'), needsSecretFile(process.env))
const children = [
  // The browser sends writes from the page that Vite serves, so that must be the gateway's origin.
  run(['--watch', '--no-clear-screen', 'server/main.ts'], { PORT: port, BASE_URL: `http://127.0.0.1:${webPort}` }),
  run(['--bun', 'vite', '--config', 'dashboard/vite.config.ts'], {
    WEB_PORT: webPort,
    GATEWAY_URL: `http://127.0.0.1:${port}`,
  }),
]
const stop = () => {
  for (const child of children) child.kill('SIGTERM')
}
process.on('SIGINT', stop)
process.on('SIGTERM', stop)
await Promise.race(children.map((child) => child.exited))
stop()
await Promise.all(children.map((child) => child.exited))

function run(command: readonly string[], environment: Readonly<Record<string, string>>) {
  return Bun.spawn([process.execPath, ...command], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environment },
  })
}
