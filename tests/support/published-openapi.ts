import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'

/** The OpenAPI files of real services, which `tests/fixtures/openapi/LICENSES.md` names. */
export const PUBLISHED = [
  'azure-openai.json',
  'azure-openai-preview.json',
  'blockfrost.yaml',
  'dialogporten.json',
  'figma.yaml',
  'github.json',
  'openai.yaml',
  'rclone.json',
  'readme.json',
  'stapi.json',
  'uspto.json',
] as const

export function publishedOpenApi(file: (typeof PUBLISHED)[number]): string {
  const packed = readFileSync(resolve(import.meta.dir, `../fixtures/openapi/${file}.br`))
  return brotliDecompressSync(packed).toString('utf8')
}
