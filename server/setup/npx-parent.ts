import { readFileSync } from 'node:fs'

const LOOK_EVERY_MS = 250
/** up, `bun run`, the shell npx starts, npx: it is never further away. */
const FARTHEST_ANCESTOR = 4

/**
 * Sends this process a SIGTERM when the npx that started it is gone. A SIGTERM to npx ends npx and its shell and goes
 * no further, so that without this `npx bun run up`, once stopped, would leave its server running on the port.
 * Does nothing when no npx is there; holds nothing open.
 */
export function stopWithNpx(): void {
  const chain = processIdsUpToNpx()
  if (chain.length === 0) return
  const timer = setInterval(() => {
    if (chain.every(isAlive)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_EVERY_MS)
  timer.unref()
}

/** The processes between this one and npx, npx included; empty when npx is none of the nearest. */
function processIdsUpToNpx(): number[] {
  const { npm_config_user_agent } = process.env
  // Inherited by all that npm ever started, so it only says that looking for an npx is worth it. `bun run` leaves this
  // variable as npx set it, unlike npm_command.
  if (!npm_config_user_agent?.startsWith('npm/')) return []
  const chain: number[] = []
  for (let id = process.ppid; id > 1 && chain.length < FARTHEST_ANCESTOR; ) {
    chain.push(id)
    const found = describeProcess(id)
    if (found === null) return []
    if (found.command.startsWith('npm exec')) return chain
    id = found.parent
  }
  return []
}

function describeProcess(id: number): { parent: number; command: string } | null {
  try {
    return process.platform === 'linux' ? fromProc(id) : fromPs(id)
  } catch {
    return null
  }
}

/** Small images have no ps, but every Linux has this. */
function fromProc(id: number): { parent: number; command: string } {
  const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { parent: Number(afterName[1]), command: readFileSync(`/proc/${id}/cmdline`, 'utf8') }
}

function fromPs(id: number): { parent: number; command: string } | null {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'ppid=,args=', '-p', String(id)])
  const found = /^\s*(\d+)\s+(.*)/.exec(stdout.toString())
  return found ? { parent: Number(found[1]), command: found[2] ?? '' } : null
}

function isAlive(id: number): boolean {
  try {
    return process.kill(id, 0)
  } catch {
    return false
  }
}
