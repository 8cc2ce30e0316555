import { existsSync } from 'node:fs'
import { SetupFailure } from './setup-failure.ts'
import { step } from './step.ts'

/** Chromium without windows: a page costs it a third less processor time, and a start a quarter. */
const SHELL = '/usr/lib/chromium/chromium-headless-shell'
const CHROMIUM = '/usr/bin/chromium'
/** Without the font package, pages render without text. */
const PACKAGES = ['chromium-headless-shell', 'fonts-noto-core']

/** The browser that the browser tests start. */
export function browserPath(): string {
  return existsSync(SHELL) ? SHELL : CHROMIUM
}

/**
 * Installs Chromium's headless shell for the browser tests of `verify`, if it is missing. Needs root and apt; otherwise an installed
 * Chromium serves, and without one the error says what to install. Returns whether it installed anything.
 */
export async function installBrowser(): Promise<boolean> {
  if (existsSync(SHELL)) return false
  const hasChromium = existsSync(CHROMIUM)
  const apt = Bun.which('apt-get')
  if (apt === null || process.getuid?.() !== 0) {
    if (hasChromium) return false
    throw new SetupFailure(
      `The browser tests need Chromium at ${SHELL} or ${CHROMIUM}. Install it (Debian: apt-get install -y ${PACKAGES.join(' ')}), or run verify as root on a system with apt.`,
    )
  }
  try {
    await step('Installing Chromium for the browser tests', async () => {
      await runApt(apt, ['update'])
      await runApt(apt, ['install', '-y', '--no-install-recommends', ...PACKAGES])
    })
  } catch (failure) {
    if (hasChromium) return false
    throw failure
  }
  if (!existsSync(SHELL)) throw new SetupFailure(`apt-get installed Chromium, but not at ${SHELL}.`)
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
