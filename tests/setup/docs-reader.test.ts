import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { prepareDocsReader } from '../../server/setup/docs-reader.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'docs-reader-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function install(version: string): Promise<void> {
  const files = {
    'package.json': JSON.stringify({ name: '@scalar/api-reference', version }),
    'dist/browser/standalone.js': `console.log("reader ${version}")`,
  }
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, 'node_modules/@scalar/api-reference', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}
const placed = (ending = '') => readFile(join(root, `dashboard/dist/vendor/scalar.js${ending}`))

test('a checkout without the API reference has nothing to prepare', async () => {
  expect(await prepareDocsReader(root)).toBe(false)
})

test('the API reference is copied in four encodings, once per version, and again when the dashboard was rebuilt', async () => {
  await install('1.0.0')
  expect(await prepareDocsReader(root)).toBe(true)
  const plain = await placed()
  expect(plain.toString()).toBe('console.log("reader 1.0.0")')
  expect(brotliDecompressSync(await placed('.br'))).toEqual(plain)
  expect(zstdDecompressSync(await placed('.zst'))).toEqual(plain)
  expect(gunzipSync(await placed('.gz'))).toEqual(plain)
  expect(await prepareDocsReader(root)).toBe(false)

  await install('1.0.1')
  expect(await prepareDocsReader(root)).toBe(true)
  expect((await placed()).toString()).toContain('1.0.1')

  await rm(join(root, 'dashboard/dist'), { recursive: true })
  expect(await prepareDocsReader(root)).toBe(true)
})
