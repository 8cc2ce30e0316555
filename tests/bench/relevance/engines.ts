import type { Client } from '@libsql/client'
import { anyOf } from '../../../server/adapters/websearch/local/query/full-text-query'
import { IndexSpelling } from '../../../server/adapters/websearch/local/query/index-spelling'
import { searchPassages } from '../../../server/adapters/websearch/local/query/search-passages'
import { searchTerms } from '../../../server/adapters/websearch/passages/search-terms'

/** Over one index: the urls it gives for a question, best first. */
export type Engine = (client: Client) => (q: string) => Promise<readonly string[]>

/**
 * The control: BM25 as the full-text index has it, all fields alike, over the words that are not stop words; a page stands
 * where its best passage stands.
 */
export const plainBm25: Engine = (client) => async (q) => {
  const { rows } = await client.execute({
    sql: `SELECT d.url AS url FROM passages JOIN documents d ON d.id = passages.rowid / 4096
      WHERE passages MATCH ? AND rank MATCH 'bm25(1.0, 1.0, 1.0, 1.0)' ORDER BY rank LIMIT 200`,
    args: [anyOf(searchTerms(q))],
  })
  return [...new Set(rows.map((row) => String(row['url'])))].slice(0, 10)
}

/** The gateway's answer. */
export const gateway: Engine = (client) => {
  const spelling = new IndexSpelling(client)
  return async (q) => {
    const altered = await spelling.corrected(q, 'documents')
    const found = await searchPassages(client, {
      terms: searchTerms(altered ?? q),
      filter: { maxAdult: 2, published: null },
      region: { country: 'US', language: 'en' },
      documents: 60,
      passages: 100,
    })
    return found.map(({ url }) => url).slice(0, 10)
  }
}
