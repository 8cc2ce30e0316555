import { existsSync } from 'node:fs'
import { SetupFailure } from './setup-failure.ts'
import { step } from './step.ts'

/** Where the browser tests expect Chromium. */
const CHROMIUM = '/usr/bin/chromium'
/** Without the font package, pages render without text. */
const PACKAGES = ['chromium', 'fonts-noto-core']

/**
 * Installs Chromium for the browser tests of `verify`, if it is missing. Needs root and apt; otherwise the error says what to
 * install. Returns whether it installed anything.
 */
export async function installBrowser(): Promise<boolean> {
  if (existsSync(CHROMIUM)) return false
  const apt = Bun.which('apt-get')
  if (apt === null || process.getuid?.() !== 0) {
    throw new SetupFailure(
      `The browser tests need Chromium at ${CHROMIUM}. Install it (Debian: apt-get install -y ${PACKAGES.join(' ')}), or run verify as root on a system with apt.`,
    )
  }
  await step('Installing Chromium for the browser tests', async () => {
    await runApt(apt, ['update'])
    await runApt(apt, ['install', '-y', '--no-install-recommends', ...PACKAGES])
  })
  if (!existsSync(CHROMIUM)) throw new SetupFailure(`apt-get installed Chromium, but not at ${CHROMIUM}.`)
  return true
}

async function runApt(apt: string, args: readonly string[]): Promise<void> {
  const tool = Bun.spawn([apt, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [exitCode, stdout, stderr] = await Promise.all([
    tool.exited,
    new Response(tool.stdout).text(),
    new Response(tool.stderr).text(),
  ])
  if (exitCode !== 0)
    throw new SetupFailure(`apt-get ${args[0]} failed; Chromium is needed for the browser tests.`, stdout + stderr)
}
