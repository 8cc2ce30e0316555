import { join, resolve } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { installedPackages } from '../../../server/adapters/websearch/local/build/installed-packages'
import {
  packageDocuments,
  type SectionedDocument,
} from '../../../server/adapters/websearch/local/build/package-documents'
import { CORPUS_FILE } from './corpus'

/**
 * Pins what the relevance bench searches: documents of the packages that are installed now, the default index's own source,
 * a part of each kind. Run once; the judgements are of this copy: `bun tests/bench/relevance/pin-corpus.ts`.
 */
const ROOT = resolve(import.meta.dir, '../../..')
const MAX_CHARACTERS = 6000
const MAX_OF_PACKAGE = 110
/** Every n-th document of a kind that there is too much of. */
const EVERY: Readonly<Record<string, number>> = { guide: 2 }

const packages = await installedPackages(join(ROOT, 'node_modules'))
const direct = ['drizzle-orm', 'elysia', 'better-auth', '@libsql/client', 'viem', 'lucide-static', 'knip', 'vite']
const documents = new Map<string, SectionedDocument>()
for (const installed of packages) {
  const found = await packageDocuments(installed, direct.includes(installed.name))
  const isTranslated = (one: SectionedDocument) => (one.document.lang ?? 'en') !== 'en'
  const wanted = found.filter((one, at) => !isTranslated(one) && at % (EVERY[one.document.kind ?? ''] ?? 1) === 0)
  for (const one of wanted.slice(0, MAX_OF_PACKAGE))
    if (!documents.has(one.document.url)) documents.set(one.document.url, shortened(one))
}
const lines = [...documents.values()].map((one) => JSON.stringify(one)).join('\n')
const packed = brotliCompressSync(lines, { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } })
await Bun.write(CORPUS_FILE, packed)
console.log(`${documents.size} documents, ${lines.length} bytes, ${packed.length} packed, in ${CORPUS_FILE}`)

function shortened({ document, sections }: SectionedDocument): SectionedDocument {
  let room = MAX_CHARACTERS
  const kept = sections.filter(({ blocks }) => {
    room -= blocks.reduce((sum, { text }) => sum + text.length, 0)
    return room > 0
  })
  return { document, sections: kept.length > 0 ? kept : sections.slice(0, 1) }
}
