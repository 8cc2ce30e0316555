import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SetupFailure } from './setup-failure.ts'
import { contentHash, Stamp } from './stamp.ts'
import { step } from './step.ts'
import { runBun } from './tool.ts'

/**
 * Installs exactly what bun.lock names, unless it is installed already. Answers whether it had to.
 * The platform is part of the stamp: node_modules of a Mac, mounted into a Linux container, are the wrong ones.
 */
export async function installDependencies(root: string): Promise<boolean> {
  const stamp = new Stamp(join(root, 'node_modules/.cache/gateway-setup/dependencies'))
  const content = await contentHash(root, ['package.json', 'bun.lock'], `${process.platform} ${process.arch}`)
  if (existsSync(join(root, 'node_modules')) && (await stamp.matches(content))) return false

  await step('Installing dependencies', async () => {
    await stamp.clear()
    // NODE_ENV=production must not cost us the build tools, which are development dependencies.
    const run = await runBun(['install', '--frozen-lockfile'], { folder: root, environment: { NODE_ENV: undefined } })
    if (run.exitCode !== 0) throw new SetupFailure('The dependencies could not be installed.', run.output)
    await stamp.write(content)
  })
  return true
}
