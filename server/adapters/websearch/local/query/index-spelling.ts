import type { Client } from '@libsql/client'
import { searchTerms, wordsOf } from '../../passages/search-terms'
import { selectRows } from './select-rows'
import { type KnownWord, Speller } from './speller'

/** Pages and images have separate vocabularies. */
export type Vocabulary = 'documents' | 'images'

/** Returns the corrected query; null if there is nothing to correct. */
export type Correct = (q: string) => Promise<string | null>

/** An index with this many documents is large: a word in only one of them is likely to be a typo. */
const LARGE = 500

/** Corrects spelling with the words of one index file. They are loaded for the first query that needs them. */
export class IndexSpelling {
  private readonly client: Client
  private readonly spellers = new Map<Vocabulary, Speller>()

  constructor(client: Client) {
    this.client = client
  }

  async corrected(q: string, vocabulary: Vocabulary): Promise<string | null> {
    const words = [...new Set(wordsOf(q).map((word) => word.toLowerCase()))]
    const spelled = await this.counts(`SELECT word, ${vocabulary} AS n FROM vocabulary WHERE word IN`, words)
    const terms = words.flatMap((word) => searchTerms(word))
    const stemmed =
      vocabulary === 'images'
        ? new Map<string, number>()
        : await this.counts(
            'SELECT stem AS word, passages AS n FROM stems WHERE stem IN',
            terms.map(({ stem }) => stem),
          )
    const stems = new Map(terms.map(({ word, stem }) => [word, stemmed.get(stem) ?? 0]))
    const speller = await this.speller(vocabulary)
    return speller.corrected(q, (word) => ({ documents: spelled.get(word) ?? 0, byStem: stems.get(word) ?? 0 }))
  }

  private async counts(sql: string, words: readonly string[]): Promise<Map<string, number>> {
    const rows = await selectRows<{ readonly word: string; readonly n: number }>(
      this.client,
      `${sql} (SELECT value FROM json_each(?))`,
      [JSON.stringify(words)],
    )
    return new Map(rows.map(({ word, n }) => [word, n]))
  }

  private async speller(vocabulary: Vocabulary): Promise<Speller> {
    const made = this.spellers.get(vocabulary) ?? (await this.read(vocabulary))
    this.spellers.set(vocabulary, made)
    return made
  }

  private async read(vocabulary: Vocabulary): Promise<Speller> {
    const [size] = await selectRows<{ readonly value: string }>(this.client, 'SELECT value FROM meta WHERE key = ?', [
      vocabulary,
    ])
    const least = Number(size?.value ?? 0) > LARGE && vocabulary === 'documents' ? 3 : 1
    // Two lists in one row, because the driver is slow with many rows.
    const [lists] = await selectRows<{ readonly words: string; readonly counts: string }>(
      this.client,
      `SELECT json_group_array(word) AS words, json_group_array(${vocabulary}) AS counts FROM vocabulary WHERE ${vocabulary} >= ?`,
      [least],
    )
    const counts = JSON.parse(lists?.counts ?? '[]') as number[] // the SQL builds both from columns of these types
    const words = JSON.parse(lists?.words ?? '[]') as string[]
    return new Speller(
      words.map((word, at): KnownWord => ({ word, documents: counts[at] ?? 0 })),
      least,
    )
  }
}

/** The `query` of a response: the original and, if the spelling was corrected, the query that was searched. */
export async function spelled(
  { q, spellcheck }: { readonly q: string; readonly spellcheck: boolean },
  correct: Correct,
): Promise<{ original: string; altered?: string; spellcheckOff: boolean }> {
  const altered = spellcheck ? await correct(q) : null
  return { original: q, ...(altered === null ? {} : { altered }), spellcheckOff: !spellcheck }
}
