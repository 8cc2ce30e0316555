import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { canInstall, runApt, runTool } from './apt.ts'
import { step } from './step.ts'

/** The proxies whose files `ops` ships, with their places in Debian's packages. */
const PROXIES = { nginx: 'usr/sbin/nginx', caddy: 'usr/bin/caddy', haproxy: 'usr/sbin/haproxy' } as const
/** With what HAProxy needs and a small Debian lacks. */
const PACKAGES = ['nginx', 'caddy', 'haproxy', 'liblua5.3-0', 'libopentracing1', 'libopentracing-c-wrapper0']
const WHAT_FOR = 'the tests of ops need nginx, Caddy and HAProxy'

/**
 * Unpacks the proxies that are missing, for the tests of `ops`. Nothing is installed, so that none of them starts as a service. Returns the PATH
 * with them. Without apt, or if it fails, they are missing, and their tests are skipped.
 */
export async function pathWithProxies(root: string, path = process.env['PATH'] ?? ''): Promise<string> {
  const folder = join(root, 'node_modules/.cache/gateway-proxies')
  const programs = join(folder, 'bin')
  const which = (name: string) => Bun.which(name, { PATH: path })
  const isMissing = Object.keys(PROXIES).some((name) => which(name) === null)
  if (!isMissing || which('apt-get') === null || which('dpkg') === null) return path
  if (!existsSync(programs)) {
    try {
      await step('Unpacking nginx, Caddy and HAProxy for the tests', () => unpack(folder, programs))
    } catch (failure) {
      console.error(`Tests with real proxies are skipped: ${failure instanceof Error ? failure.message : failure}`)
      return path
    }
  }
  return `${programs}${delimiter}${path}`
}

async function unpack(folder: string, programs: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  try {
    await runApt(['download', ...PACKAGES], WHAT_FOR, folder)
  } catch (failure) {
    // A fresh Debian has no list of packages yet.
    if (!canInstall()) throw failure
    await runApt(['update'], WHAT_FOR)
    await runApt(['download', ...PACKAGES], WHAT_FOR, folder)
  }
  for (const name of await readdir(folder))
    if (name.endsWith('.deb')) await runTool(['dpkg', '-x', join(folder, name), join(folder, 'files')], WHAT_FOR)
  const [libraries = ''] = await Array.fromAsync(
    new Bun.Glob('usr/lib/*-linux-*').scan({ cwd: join(folder, 'files'), onlyFiles: false }),
  )
  const made = `${programs}.new`
  await mkdir(made)
  for (const [name, place] of Object.entries(PROXIES)) {
    const run = `#!/bin/sh\nLD_LIBRARY_PATH='${join(folder, 'files', libraries)}' exec '${join(folder, 'files', place)}' "$@"\n`
    await writeFile(join(made, name), run)
    await chmod(join(made, name), 0o755)
  }
  await rename(made, programs)
}
