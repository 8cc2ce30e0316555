import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import type { SectionedDocument } from '../../../server/adapters/websearch/local/build/package-documents'

export const CORPUS_FILE = resolve(import.meta.dir, '../../fixtures/search-corpus.jsonl.br')

/** The pinned copy of a part of the default index's documents. */
export async function pinnedCorpus(): Promise<SectionedDocument[]> {
  const text = brotliDecompressSync(await readFile(CORPUS_FILE)).toString('utf8')
  return text.split('\n').map((line) => JSON.parse(line) as SectionedDocument) // written by pin-corpus.ts
}
