import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SetupFailure } from './setup-failure.ts'
import { contentHash, Stamp } from './stamp.ts'
import { step } from './step.ts'
import { runBun } from './tool.ts'

/**
 * Installs the dependencies of bun.lock, unless they are installed. Returns whether it did. The stamp includes the platform, because
 * node_modules of a Mac do not work when they are mounted into a Linux container.
 */
export async function installDependencies(root: string): Promise<boolean> {
  const stamp = new Stamp(join(root, 'node_modules/.cache/gateway-setup/dependencies'))
  const content = await contentHash(root, ['package.json', 'bun.lock'], `${process.platform} ${process.arch}`)
  if (existsSync(join(root, 'node_modules')) && (await stamp.matches(content))) return false

  await step('Installing dependencies', async () => {
    await stamp.clear()
    // With NODE_ENV=production, the build tools would be missing: they are development dependencies.
    const run = await runBun(['install', '--frozen-lockfile'], { folder: root, environment: { NODE_ENV: undefined } })
    if (run.exitCode !== 0) throw new SetupFailure('The dependencies could not be installed.', run.output)
    await stamp.write(content)
  })
  return true
}
