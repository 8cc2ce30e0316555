import { readFileSync } from 'node:fs'

const POLL_MS = 250
/** up, `bun run`, the shell that npx starts, npx. */
const MAX_ANCESTORS = 4

/**
 * Stops this process with SIGTERM when the npx or `bun run up` that started it has ended. A SIGTERM to npx only ends npx and its shell, and
 * a SIGKILL of `bun run up` only that: without this a stopped wrapper would leave its server running, and the next start would be
 * refused. Does nothing without such a parent, and does not keep the process alive.
 */
export function stopWithParents(): void {
  const upToNpx = processIdsUpToNpx()
  const chain = upToNpx.length > 0 ? upToNpx : bunRun()
  if (chain.length === 0) return
  const timer = setInterval(() => {
    if (chain.every(isAlive)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS)
  timer.unref()
}

/** The processes from this one's parent to npx; empty when npx is not among the nearest ancestors. */
function processIdsUpToNpx(): number[] {
  const { npm_config_user_agent } = process.env
  // All descendants of npm inherit this variable, so it only means that npx may be an ancestor. Unlike npm_command, `bun run` does
  // not change it.
  if (!npm_config_user_agent?.startsWith('npm/')) return []
  const chain: number[] = []
  for (let id = process.ppid; id > 1 && chain.length < MAX_ANCESTORS; ) {
    chain.push(id)
    const found = describeProcess(id)
    if (found === null) return []
    if (found.command.startsWith('npm exec')) return chain
    id = found.parent
  }
  return []
}

/** The `bun run up` that is this process's parent. The variable alone may come from further above. */
function bunRun(): number[] {
  const { npm_lifecycle_event } = process.env
  if (npm_lifecycle_event !== 'up') return []
  const command = describeProcess(process.ppid)?.command.split(/[\0 ]/) ?? []
  return command.includes('up') && /\bbunx?\b/.test(command[0] ?? '') ? [process.ppid] : []
}

function describeProcess(id: number): { parent: number; command: string } | null {
  try {
    return process.platform === 'linux' ? fromProc(id) : fromPs(id)
  } catch {
    return null
  }
}

/** Small container images have no ps, but every Linux has /proc. */
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
