import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Where the system says which volumes there should be, and which are mounted. */
const SYSTEM = { fstab: '/etc/fstab', mounts: '/proc/self/mountinfo' }
/** The files of a folder before it has data: those of a start, and those that an operator brings. */
const NO_DATA = /^(lost\+found|secret_key|gateway\.yaml|models\.json|tmp|lock.*|control\.sock|.*\.restoring)$/

/**
 * Why a start must not begin a new gateway in its data folder: the folder is empty because its volume is not mounted, or, in production, it
 * does not exist, which a wrong path and a missing volume have in common. Null if the folder has data, or `--new` or NEW_DATA_DIR=true says
 * that there is none. Changes nothing.
 */
export function unmountedVolume(
  flags: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
  system = SYSTEM,
): string | null {
  const { DATA_DIR, DATABASE_URL, NODE_ENV, NEW_DATA_DIR } = environment
  const file = /^file:(?:\/\/[^/?#]*)?([^?#]+)/.exec(DATABASE_URL?.trim() ?? '')?.[1]
  if (flags.includes('--new') || NEW_DATA_DIR?.trim() === 'true' || (DATABASE_URL?.trim() && !file)) return null
  const folder = file ? dirname(resolve(decodeURIComponent(file))) : resolve(DATA_DIR?.trim() || 'data')
  const isThere = existsSync(folder)
  if (isThere && !isEmpty(folder)) return null
  const real = realPath(folder)
  const mounted = mountPoints(system.mounts, 4)
  const missing = mountPoints(system.fstab, 1).find((point) => isWithin(real, point) && !mounted.includes(point))
  const cure = 'To begin a new gateway there, start once with --new, or NEW_DATA_DIR=true'
  if (missing !== undefined)
    return `The data folder ${folder} is empty, and the volume that ${system.fstab} names for ${missing} is not mounted. Mount it. ${cure}`
  if (isThere || NODE_ENV?.trim() !== 'production' || !DATA_DIR?.trim() || mounted.includes(dirname(real))) return null
  return `The data folder ${folder} does not exist. Mount its volume, or correct DATA_DIR. ${cure}`
}

/** False for what cannot be read, too: the start says why. */
function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).every((name) => NO_DATA.test(name))
  } catch {
    return false
  }
}

/** The mount points in a file of the system that are mounted by themselves, without the root; none if there is no such file. */
function mountPoints(path: string, column: number): readonly string[] {
  const points: string[] = []
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    const fields = line.trim().split(/\s+/)
    const point = (fields[column] ?? '')
      .replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
      .replace(/(?<=.)\/+$/, '')
    const isByHand = fields[column + 2]?.split(',').includes('noauto')
    if (!line.trim().startsWith('#') && /^\/./.test(point) && !isByHand) points.push(point)
  }
  return points
}

function isWithin(path: string, point: string): boolean {
  return path === point || path.startsWith(`${point}/`)
}

/** With links resolved as far as it exists. */
function realPath(path: string): string {
  if (existsSync(path) || path === '/') return realpathSync(path)
  return resolve(realPath(dirname(path)), path.slice(path.lastIndexOf('/') + 1))
}
