import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { whileAlone } from '../../../server/adapters/websearch/local/build/index-lock'

const CACHE = join(import.meta.dir, '..', '..', '..', 'node_modules', '.cache', 'gateway-tests')

/**
 * The folder of what `build` makes of a content with this hash: built by the first test that needs it, kept until the content changes.
 * `build` writes into another folder, which is moved to `place`.
 */
export async function builtOnce(
  name: string,
  hash: string,
  build: (folder: string, place: string) => Promise<void>,
): Promise<string> {
  const folder = join(CACHE, `${name}-${hash.slice(0, 16)}`)
  await mkdir(CACHE, { recursive: true })
  await whileAlone(join(CACHE, name), async () => {
    const present = (await readdir(CACHE)).filter((entry) => entry.startsWith(`${name}-`))
    if (present.includes(`${name}-${hash.slice(0, 16)}`)) return
    for (const older of present) await rm(join(CACHE, older), { recursive: true, force: true })
    const building = join(CACHE, `${name}-building`)
    await build(building, folder)
    await rename(building, folder)
  })
  return folder
}
