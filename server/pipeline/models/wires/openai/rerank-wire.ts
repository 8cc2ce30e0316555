import { isCount, isJson, type Json, membersOf } from '../../../../core/json'
import { positive } from '../model-request'
import type { ModelWire } from '../model-wire'
import { covered, type MemberRules } from '../priced-members'
import { embeddingUsage } from '../token-usage'
import { readUnitCall, UNIT_CALLS } from './unit-wires'

/** What vendors accept in one call. */
const MAX_DOCUMENTS = 2048
/** A search unit is a query with up to so many documents. One that is longer with its query than so many tokens counts in pieces. */
const SEARCH = { documents: 100, tokens: 500 } as const
/** However long the query is, a piece has room for so much of a document. */
const LEAST_ROOM = 50
/** Tokens around each pair of query and document. */
const PAIR_TOKENS = 8

/** The text of a document; null for one that is not only text, such as a picture, which the price does not cover. */
function textOf(document: unknown): string | null {
  if (typeof document === 'string') return document
  const { text, ...others } = membersOf(document)
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : null
}

const MEMBERS: MemberRules = {
  ...covered('model', 'query', 'top_n', 'max_tokens_per_doc', 'return_documents', 'user'),
  documents: (value, path) =>
    Array.isArray(value) && value.some((one) => isJson(one) && textOf(one) === null) ? [`${path}.image`] : [],
}

interface Ranking {
  readonly searches: number
  /** With the query before each document, as the model reads it. */
  readonly bytes: number
}

/** What a ranking is at most, at one token per byte; null if it is none. */
function rankingOf({ query, documents, max_tokens_per_doc: cut }: Json): Ranking | null {
  if (typeof query !== 'string' || !Array.isArray(documents)) return null
  if (documents.length === 0 || documents.length > MAX_DOCUMENTS) return null
  const most = positive(cut) ?? Number.POSITIVE_INFINITY
  const asked = Buffer.byteLength(query) + PAIR_TOKENS
  const room = Math.max(LEAST_ROOM, SEARCH.tokens - asked)
  let pieces = 0
  let bytes = 0
  for (const one of documents) {
    if (typeof one !== 'string' && !isJson(one)) return null
    const length = Math.min(most, Buffer.byteLength(textOf(one) ?? ''))
    pieces += Math.max(1, Math.ceil(length / room))
    bytes += asked + length
  }
  return { searches: Math.ceil(pieces / SEARCH.documents), bytes }
}

/** Documents in the order of what they have to do with a query: the form of Cohere, and of Jina, vLLM and others. */
export const RERANK: ModelWire = {
  ...UNIT_CALLS,
  route: 'rerank',
  read(bytes) {
    let textBytes = 0
    const read = readUnitCall(bytes, MEMBERS, ['query', 'documents'], (json) => {
      if (positive(json['top_n']) === undefined) return ['top_n', 'must be a whole number above 0']
      const ranking = rankingOf(json)
      if (!ranking) return ['documents', `must be a list of 1 to ${MAX_DOCUMENTS} texts, and query a text`]
      textBytes = ranking.bytes
      const { length } = json['documents'] as readonly unknown[]
      return { unit: 'search', count: ranking.searches, likely: Math.ceil(length / SEARCH.documents) }
    })
    if (!read.ok) return read
    return { ok: true, value: { ...read.value, textBytes, readBytes: textBytes } }
  },
  usageOf: ({ usage, meta }) =>
    embeddingUsage(usage, 'total_tokens', 'prompt_tokens') ??
    embeddingUsage(membersOf(meta)['tokens'], 'input_tokens', 'total_tokens'),
  unitsOf({ meta }) {
    const units = membersOf(membersOf(meta)['billed_units'])['search_units']
    return isCount(units) && units > 0 ? units : null
  },
  answerOf: ({ results }, _, bytes) => (Array.isArray(results) && results.length > 0 ? bytes : null),
}
