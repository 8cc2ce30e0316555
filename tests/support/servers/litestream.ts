import { realpathSync } from 'node:fs'
import { join } from 'node:path'

/** `bun run verify` installs it. */
export const LITESTREAM_IS_MISSING = Bun.which('litestream') === null

/** Processes whose command line has a text. */
export function pidsOf(text: string): readonly number[] {
  const { stdout } = Bun.spawnSync(['pgrep', '-f', '--', text])
  return stdout.toString().split('\n').filter(Boolean).map(Number)
}

/** Sends a signal to the Litestream that the gateway of a data folder started. Returns how many processes got it. */
export function signalLitestream(folder: string, signal: NodeJS.Signals): number {
  const pids = pidsOf(`^litestream replicate.*${join(realpathSync(folder), 'litestream.yml')}`)
  for (const pid of pids) process.kill(pid, signal)
  return pids.length
}
