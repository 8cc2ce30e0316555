import { SetupFailure } from '../server/setup/setup-failure'

/** Whether this process may install packages of Debian. */
export const canInstall = (): boolean => process.getuid?.() === 0 && Bun.which('apt-get') !== null

/** Installs packages of Debian. `what` says what they are for. */
export async function installPackages(packages: readonly string[], what: string): Promise<void> {
  await runApt(['update'], what)
  await runApt(['install', '-y', '--no-install-recommends', ...packages], what)
}

/** Runs apt without questions. `folder` is where it puts what it downloads. */
export function runApt(args: readonly string[], what: string, folder?: string): Promise<void> {
  return runTool(['apt-get', ...args], what, folder)
}

/** Runs a tool of Debian, and throws with its output if it fails. */
export async function runTool(command: readonly [string, ...string[]], what: string, folder?: string): Promise<void> {
  const tool = Bun.spawn([...command], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    ...(folder !== undefined && { cwd: folder }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [exitCode, stdout, stderr] = await Promise.all([
    tool.exited,
    new Response(tool.stdout).text(),
    new Response(tool.stderr).text(),
  ])
  if (exitCode !== 0) throw new SetupFailure(`${command.slice(0, 2).join(' ')} failed; ${what}.`, stdout + stderr)
}
