import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { type IndexCounts, IndexWriter } from '../../../server/adapters/websearch/local/build/index-writer'
import { pinnedCorpus } from './corpus'
import type { Engine } from './engines'
import judgements from './judgements.json' with { type: 'json' }
import { type Grades, ndcg, reciprocalRank } from './measures'

/** A question, what a judge said of its pages, and whether it was kept from the choosing of weights. */
export interface Judged {
  readonly q: string
  readonly held: boolean
  readonly grades: Grades
}

export interface Scored {
  readonly judged: Judged
  readonly ndcg: number
  readonly reciprocalRank: number
  readonly found: readonly string[]
}

const JUDGED = judgements as unknown as readonly Judged[] // each question's grades have other names

/** An index of the pinned corpus, in a folder. */
export async function buildPinned(folder: string): Promise<{ readonly path: string; readonly counts: IndexCounts }> {
  const path = join(folder, 'search.db')
  const writer = await IndexWriter.create(path, 0)
  for (const document of await pinnedCorpus()) await writer.addDocument(document)
  return { path, counts: await writer.finish({}) }
}

/** Every question, asked of an engine over that index. */
export async function scoresOf(engine: Engine, path: string): Promise<Scored[]> {
  const client = createClient({ url: pathToFileURL(path).href, concurrency: 1 })
  const ask = engine(client)
  const scored: Scored[] = []
  for (const judged of JUDGED) {
    const found = await ask(judged.q)
    const { grades } = judged
    scored.push({ judged, found, ndcg: ndcg(found, grades), reciprocalRank: reciprocalRank(found, grades) })
  }
  client.close()
  return scored
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}
