import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { contentHash, Stamp } from './stamp.ts'
import { step } from './step.ts'

const READER = 'node_modules/@scalar/api-reference'
/** Beside the dashboard's files, where the server finds it; the build of the dashboard empties that folder. */
const PUT_AT = 'dashboard/dist/vendor/scalar.js'
/** One step above this takes ten times as long and saves a twelfth. */
const BROTLI_QUALITY = 9

/**
 * Puts the reader of `/docs` beside the built dashboard, compressed, unless it stands there. Answers whether it had to.
 * It is a development dependency: where it is not installed there is nothing to do, and `/docs` says so.
 */
export async function prepareDocsReader(root: string): Promise<boolean> {
  const source = join(root, READER, 'dist/browser/standalone.js')
  if (!existsSync(source)) return false
  const stamp = new Stamp(join(root, 'node_modules/.cache/gateway-setup/docs-reader'))
  const content = await contentHash(root, [`${READER}/package.json`])
  const target = join(root, PUT_AT)
  if (existsSync(target) && (await stamp.matches(content))) return false

  await step('Preparing the API documents', async () => {
    await stamp.clear()
    await rm(dirname(target), { recursive: true, force: true })
    await mkdir(dirname(target), { recursive: true })
    const plain = await readFile(source)
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    }
    const [br, gz] = await Promise.all([promisify(brotliCompress)(plain, { params }), promisify(gzip)(plain)])
    await Promise.all([writeFile(target, plain), writeFile(`${target}.br`, br), writeFile(`${target}.gz`, gz)])
    await stamp.write(content)
  })
  return true
}
