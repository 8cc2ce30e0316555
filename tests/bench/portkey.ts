import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../server/listen'
import { SERVER_CORE, type Workshop } from './workshop'

/** The peer that this compares with, at this version. */
export const PORTKEY = '@portkey-ai/gateway@1.15.2'

/** The other gateway, installed and started on the servers' core; why not, where it could not be. */
export async function openPortkey(
  workshop: Workshop,
): Promise<{ skipped: string | null; port: number; pid: number; stop: () => void }> {
  const folder = await workshop.folder('portkey')
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const install = Bun.spawn([process.execPath, 'add', PORTKEY], { cwd: folder, stdout: 'ignore', stderr: 'pipe' })
  const said = await new Response(install.stderr).text()
  if ((await install.exited) !== 0)
    return {
      skipped: `${PORTKEY} could not be installed: ${said.split('\n')[0]}`,
      port: 0,
      pid: 0,
      stop: () => undefined,
    }
  const port = freePort('127.0.0.1')
  const start = [process.execPath, '--bun', join('node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')]
  const foreign = await workshop.foreign([...start, `--port=${port}`, '--headless'], folder, port, SERVER_CORE)
  return {
    skipped: null,
    port,
    pid: foreign.pid,
    stop() {
      foreign.stop()
      workshop.removeFolder(folder)
    },
  }
}
