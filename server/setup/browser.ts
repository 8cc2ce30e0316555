import { existsSync } from 'node:fs'
import { SetupFailure } from './setup-failure.ts'
import { step } from './step.ts'

/** Where the browser tests look for it. */
const CHROMIUM = '/usr/bin/chromium'
/** The second package brings the letters; without any font, pages render empty. */
const PACKAGES = ['chromium', 'fonts-noto-core']

/**
 * Installs the browser of the tests where it is missing: `verify` tests in a browser, so it brings one. Needs root and apt;
 * elsewhere it says what to install. Answers whether it had to.
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
  const [exitCode, said, complained] = await Promise.all([
    tool.exited,
    new Response(tool.stdout).text(),
    new Response(tool.stderr).text(),
  ])
  if (exitCode !== 0)
    throw new SetupFailure(`apt-get ${args[0]} failed; Chromium is needed for the browser tests.`, said + complained)
}
