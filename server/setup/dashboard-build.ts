import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SetupFailure } from './setup-failure.ts'
import { contentHash, filesBelow, Stamp } from './stamp.ts'
import { step } from './step.ts'
import { runBun } from './tool.ts'

/** The dashboard's own sources, and those that it shares with the server. */
const SOURCES = ['dashboard', 'server/core']
/** Package versions and compiler options, which the build also depends on. */
const ALSO_BUILT_FROM = ['package.json', 'bun.lock', 'tsconfig.json']

/** Builds dashboard/dist if it is missing or its sources changed. Returns whether it did. */
export async function buildDashboard(root: string): Promise<boolean> {
  const stamp = new Stamp(join(root, 'node_modules/.cache/gateway-setup/dashboard'))
  const skipped = ['dashboard/dist', 'dashboard/node_modules']
  const sources = await Promise.all(SOURCES.map((folder) => filesBelow(root, folder, skipped)))
  const content = await contentHash(root, [...sources.flat(), ...ALSO_BUILT_FROM])
  if (existsSync(join(root, 'dashboard/dist/index.html')) && (await stamp.matches(content))) return false

  await step('Building the dashboard', async () => {
    await stamp.clear()
    const run = await runBun(['--bun', 'run', 'build'], { folder: root, environment: { NODE_ENV: 'production' } })
    if (run.exitCode !== 0) throw new SetupFailure('The dashboard could not be built.', run.output)
    await stamp.write(content)
  })
  return true
}
