import { SetupFailure } from './setup-failure.ts'

/** Whether this process may install packages of Debian. */
export const canInstall = (): boolean => process.getuid?.() === 0 && Bun.which('apt-get') !== null

/** Installs packages of Debian. `what` says what they are for. */
export async function installPackages(packages: readonly string[], what: string): Promise<void> {
  await runApt(['update'], what)
  await runApt(['install', '-y', '--no-install-recommends', ...packages], what)
}

async function runApt(args: readonly string[], what: string): Promise<void> {
  const tool = Bun.spawn(['apt-get', ...args], {
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
  if (exitCode !== 0) throw new SetupFailure(`apt-get ${args[0]} failed; ${what}.`, stdout + stderr)
}
