import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type Client, createClient } from '@libsql/client'
import { ok, type Result } from '../../../core/result'
import { RuleBooks } from '../goggles/rule-books'
import { searchTerms } from '../passages/search-terms'
import { contextFromIndex } from './query/context-answer'
import { imageAnswer } from './query/image-answer'
import { IndexSpelling } from './query/index-spelling'
import type { IndexQuestion } from './query/question'
import { searchImages } from './query/search-images'
import { searchPassages } from './query/search-passages'

/**
 * Answers questions from an index file, which it never changes. If the file is replaced, the next question uses the new one. Blocks its
 * thread while it searches.
 */
export class IndexReader {
  private readonly path: string
  private readonly books = new RuleBooks()
  private open: { readonly client: Client; readonly file: string; readonly spelling: IndexSpelling } | null = null

  constructor(path: string) {
    this.path = path
  }

  /** The text of an answer; null if building its goggles needs another slice; or the rule that the goggles break. */
  async answer(question: IndexQuestion): Promise<Result<string | null, string>> {
    const { client, spelling } = await this.opened()
    if (question.kind === 'context') {
      const correct = (q: string) => spelling.corrected(q, 'documents')
      const { goggles } = question.input
      const rules = goggles.length === 0 ? null : this.books.of(goggles)
      if (rules && !rules.ok) return rules
      if (rules?.value === null) return ok(null)
      const helpers = { rules: rules?.value ?? null, correct }
      return contextFromIndex(client, question.input, question.baseUrl, question.nowMs, helpers)
    }
    if (question.kind === 'images')
      return ok(await imageAnswer(client, question.input, question.baseUrl, (q) => spelling.corrected(q, 'images')))
    await proveReadable(client)
    return ok('')
  }

  close(): void {
    this.open?.client.close()
    this.open = null
  }

  private async opened(): Promise<{ readonly client: Client; readonly spelling: IndexSpelling }> {
    const file = identity(this.path)
    if (file === null) {
      this.close()
      throw new Error('there is no index file yet')
    }
    if (this.open?.file === file) return this.open
    this.close()
    const client = createClient({ url: pathToFileURL(this.path).href, concurrency: 1 })
    await client.execute('PRAGMA query_only = ON')
    this.open = { client, file, spelling: new IndexSpelling(client) }
    return this.open
  }
}

/** The identity of the file at a path; null if there is none. Checked first, because opening would create an empty file. */
function identity(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false })
  return file ? `${file.dev}:${file.ino}:${file.mtimeMs}:${file.size}` : null
}

/** Runs both searches, which throw if the file is not an index. They need not find anything. */
async function proveReadable(client: Client): Promise<void> {
  const terms = searchTerms('readme')
  const region = { country: 'ALL', language: 'en' }
  await searchPassages(client, { terms, filter: { maxAdult: 2, published: null }, region, documents: 1, passages: 1 })
  await searchImages(client, { terms, count: 1, region, maxAdult: 2 })
}
