import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type Client, createClient } from '@libsql/client'
import { RuleBooks } from '../goggles/rule-books'
import { searchTerms } from '../passages/search-terms'
import { contextAnswer } from './context-answer'
import { imageAnswer } from './image-answer'
import type { Question } from './question'
import { searchImages } from './search-images'
import { searchPassages } from './search-passages'

/**
 * Answers questions from an index file, which it never changes. A file put in the old one's place is taken up by the next
 * question. Blocks its thread while it searches.
 */
export class IndexReader {
  readonly #path: string
  readonly #books = new RuleBooks()
  #open: { readonly client: Client; readonly file: string } | null = null

  constructor(path: string) {
    this.#path = path
  }

  async answer(question: Question): Promise<string> {
    const client = await this.#client()
    if (question.kind === 'context')
      return contextAnswer(client, question.input, question.baseUrl, question.nowMs, this.#books)
    if (question.kind === 'images') return imageAnswer(client, question.input, question.baseUrl)
    await proveReadable(client)
    return ''
  }

  close(): void {
    this.#open?.client.close()
    this.#open = null
  }

  async #client(): Promise<Client> {
    const file = identity(this.#path)
    if (file === null) {
      this.close()
      throw new Error('there is no index file yet')
    }
    if (this.#open?.file === file) return this.#open.client
    this.close()
    const client = createClient({ url: pathToFileURL(this.#path).href, concurrency: 1 })
    this.#open = { client, file }
    await client.execute('PRAGMA query_only = ON')
    return client
  }
}

/** Which file stands at a path now; null when none does. Opening would make an empty one, so this looks first. */
function identity(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false })
  return file ? `${file.dev}:${file.ino}:${file.mtimeMs}:${file.size}` : null
}

/** Runs both searches; it throws when the file is not an index. That they find something is not asked. */
async function proveReadable(client: Client): Promise<void> {
  const terms = searchTerms('readme')
  await searchPassages(client, { terms, filter: { mostAdult: 2, published: null } })
  await searchImages(client, { terms, count: 1, includeAdult: true })
}
