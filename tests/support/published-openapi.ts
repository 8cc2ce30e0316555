import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { bundledDocument } from '../../server/cli/commands/bundle-document'

/** The OpenAPI files of real services, which `tests/fixtures/openapi/LICENSES.md` names. */
export const PUBLISHED = [
  'adyen-checkout.json',
  'azure-openai.json',
  'azure-openai-preview.json',
  'blockfrost.yaml',
  'dialogporten.json',
  'discord.json',
  'discriminators.json',
  'figma.yaml',
  'github.json',
  'lob.files.json',
  'open-meteo.yaml',
  'openai.yaml',
  'parameters-style.json',
  'paypal-invoicing.json',
  'paypal-orders.json',
  'paypal-subscriptions.json',
  'petstore-2.0.json',
  'rclone.json',
  'readme.json',
  'slack.json',
  'stapi.json',
  'uspto.json',
  'xero-projects.yaml',
] as const

/** Those that take seconds: `bun run long`. */
export const LARGE = [
  'adyen-management.json',
  'box.json',
  'digitalocean.files.json',
  'kubernetes-2.0.json',
  'kubernetes-core.json',
  'stripe.json',
  'xero-accounting.yaml',
] as const

export type PublishedFile = (typeof PUBLISHED)[number] | (typeof LARGE)[number]

/** The text of a file, as it is sent to the gateway. */
export async function publishedOpenApi(file: PublishedFile): Promise<string> {
  const packed = readFileSync(resolve(import.meta.dir, `../fixtures/openapi/${file}.br`))
  const text = brotliDecompressSync(packed).toString('utf8')
  return file.endsWith('.files.json') ? bundled(JSON.parse(text)) : text
}

/** A document of several files, bundled as the command line does it. The first one is the document. */
async function bundled(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-published-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), text)
    }
    const [[name, text] = ['', '']] = Object.entries(files)
    return await bundledDocument(join(folder, name), text)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
