import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import { contentHash, Stamp } from './stamp.ts'
import { step } from './step.ts'

const READER = 'node_modules/@scalar/api-reference'
/** Next to the dashboard's files, where the server finds it. Building the dashboard empties that folder. */
const PUT_AT = 'dashboard/dist/vendor/scalar.js'
/** The next higher quality takes ten times as long for 8 % less. */
const BROTLI_QUALITY = 9
const ZSTD_LEVEL = 12

/**
 * Adds the reader of `/docs`, compressed, to the built dashboard, unless it is there. Returns whether it did. The reader is a
 * development dependency: without it this does nothing, and `/docs` says so.
 */
export async function prepareDocsReader(root: string): Promise<boolean> {
  const source = join(root, READER, 'dist/browser/standalone.js')
  if (!existsSync(source)) return false
  const stamp = new Stamp(join(root, 'node_modules/.cache/gateway-setup/docs-reader'))
  const content = await contentHash(root, [`${READER}/package.json`])
  const target = join(root, PUT_AT)
  if (existsSync(target) && (await stamp.matches(content))) return false

  await step('Preparing the API reference', async () => {
    await stamp.clear()
    await rm(dirname(target), { recursive: true, force: true })
    await mkdir(dirname(target), { recursive: true })
    const plain = await readFile(source)
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    }
    const zstd = { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } }
    const [br, zst, gz] = await Promise.all([
      promisify(brotliCompress)(plain, { params }),
      promisify(zstdCompress)(plain, zstd),
      promisify(gzip)(plain),
    ])
    const files = { '': plain, '.br': br, '.zst': zst, '.gz': gz }
    await Promise.all(Object.entries(files).map(([extension, content]) => writeFile(target + extension, content)))
    await stamp.write(content)
  })
  return true
}
