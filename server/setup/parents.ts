import { readFileSync } from 'node:fs'

const POLL_MS = 250
/** up, `bun run`, the shell that npx starts, npx. */
const NPX_ANCESTORS = 4

/**
 * Stops this process with SIGTERM when the npx or `bun run up` that started it has ended. A SIGTERM to npx only ends npx and its shell, and
 * a SIGKILL of `bun run up` only that: without this a stopped wrapper would leave its server running, and the next start would be
 * refused. Does nothing without such a parent, and does not keep the process alive.
 */
export function stopWithParents(): void {
  const chain = parents()
  if (chain.length === 0) return
  const timer = setInterval(() => {
    if (chain.every(isAlive)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS)
  timer.unref()
}

/** The processes from this one's parent to the wrapper. Its variables are inherited, so they only mean that it may be an ancestor. */
function parents(): readonly number[] {
  const { npm_config_user_agent, npm_lifecycle_event } = process.env
  // Unlike npm_command, `bun run` does not change it.
  const upToNpx = npm_config_user_agent?.startsWith('npm/') ? ancestorsUpTo(isNpx, NPX_ANCESTORS) : []
  if (upToNpx.length > 0) return upToNpx
  return npm_lifecycle_event === 'up' ? ancestorsUpTo(isBunRunUp, 1) : []
}

function isNpx(command: string): boolean {
  return command.startsWith('npm exec')
}

function isBunRunUp(command: string): boolean {
  const [program = '', ...args] = command.split(/[\0 ]/)
  return /\bbunx?\b/.test(program) && args.includes('up')
}

/** The ids from this process's parent to the first whose command matches; empty if none of the nearest does. */
function ancestorsUpTo(matches: (command: string) => boolean, most: number): readonly number[] {
  const chain: number[] = []
  for (let id = process.ppid; id > 1 && chain.length < most; ) {
    chain.push(id)
    const found = describeProcess(id)
    if (found === null) return []
    if (matches(found.command)) return chain
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
