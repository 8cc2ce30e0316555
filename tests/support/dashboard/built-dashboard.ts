import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { whileAlone } from '../../../server/adapters/websearch/local/build/index-lock'
import { buildDashboard } from '../../../server/setup/dashboard-build'
import { prepareDocsReader } from '../../../server/setup/docs-reader'

const ROOT = join(import.meta.dir, '..', '..', '..')

let built: Promise<void> | null = null

/** Builds the dashboard if it is missing, for a test that needs its pages. Once per process, and in one process at a time. */
export function builtDashboard(): Promise<void> {
  built ??= build()
  return built
}

async function build(): Promise<void> {
  const cache = join(ROOT, 'node_modules', '.cache', 'gateway-tests')
  await mkdir(cache, { recursive: true })
  await whileAlone(join(cache, 'dashboard'), async () => {
    await buildDashboard(ROOT)
    await prepareDocsReader(ROOT)
  })
}
