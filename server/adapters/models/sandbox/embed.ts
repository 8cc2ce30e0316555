import { elementsOf, isJson, type Json, jsonText } from '../../../core/json'
import type { ModelRoute } from '../../../core/models/model'
import { err, ok, type Result } from '../../../core/result'
import type { Tokenizer } from './tokens'

/** The length of a vector, and its bounds. */
const USUAL_DIMENSIONS = 256
const MAX_DIMENSIONS = 1024
/** All numbers of one answer, which the gateway writes on its main thread. */
const MAX_NUMBERS = 2048 * USUAL_DIMENSIONS
/** More digits than a float of 32 bits has would only make the answer longer. */
const SCALE = 1e7

/** Texts to embed, independent of the wire format. */
interface Texts {
  readonly texts: readonly string[]
  readonly dimensions: number | null
}

/** The answer of `sandbox/embed` in the format of the route; an error is one sentence for the caller. */
export function embed(route: ModelRoute, body: Json, { encode, decode }: Tokenizer): Result<object, string> {
  const { texts, dimensions: given } = TEXTS[route]?.(body, decode) ?? { texts: [], dimensions: null }
  const dimensions = given ?? USUAL_DIMENSIONS
  if (dimensions > MAX_DIMENSIONS) return err(`sandbox/embed makes vectors of at most ${MAX_DIMENSIONS} dimensions.`)
  if (texts.length * dimensions > MAX_NUMBERS)
    return err(
      `sandbox/embed makes at most ${MAX_NUMBERS} numbers per call: send fewer texts or ask for fewer dimensions.`,
    )
  const vectors = texts.map((text) => vectorOf(text, dimensions))
  const used = Math.max(
    1,
    texts.reduce((sum, text) => sum + encode(text).length, 0),
  )
  return ok(answerOf(route, body, { vectors, used }))
}

/** The response of each route. */
const TEXTS: Readonly<Partial<Record<ModelRoute, (body: Json, decode: Tokenizer['decode']) => Texts>>> = {
  embeddings: ({ input, dimensions }, decode) => {
    const texts = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
    return {
      texts: texts.map((one) =>
        Array.isArray(one) ? decode(one.filter((token) => token < VOCABULARY)) : jsonText(one),
      ),
      dimensions: lengthOf(dimensions),
    }
  },
  embed_content: (body) => ofGoogle([body]),
  batch_embed_contents: ({ requests }) => ofGoogle(elementsOf(requests).filter(isJson)),
}

/** Tokens beyond the vocabulary of the sandbox have no meaning. */
const VOCABULARY = 100_256

function ofGoogle(requests: readonly Json[]): Texts {
  const lengths = requests.map((one) => lengthOf(one['outputDimensionality'] ?? one['output_dimensionality']) ?? 0)
  const longest = Math.max(0, ...lengths)
  return {
    texts: requests.map(({ content }) =>
      elementsOf(isJson(content) ? content['parts'] : null)
        .map((part) => (isJson(part) ? jsonText(part['text'] ?? '') : ''))
        .join('\n'),
    ),
    dimensions: longest === 0 ? null : longest,
  }
}

function lengthOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}

/**
 * A unit vector that depends on the text alone. Texts that share words and parts of words are near each other, so that a search
 * over the sandbox finds what it should.
 */
function vectorOf(text: string, dimensions: number): number[] {
  const sums = new Float64Array(dimensions)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    add(sums, hashOf(word, 0, word.length), 2)
    const letters = ` ${word.slice(0, MAX_LETTERS)} `
    for (let at = 0; at + 3 <= letters.length; at++) add(sums, hashOf(letters, at, at + 3), 1)
  }
  const length = Math.hypot(...sums)
  // A text without words has a direction of its own.
  if (length === 0) return Array.from(sums, (_, i) => (i === 0 ? 1 : 0))
  return Array.from(sums, (sum) => Math.round((sum / length) * SCALE) / SCALE)
}

/** The part of a word whose letters count; a longer one is no word. */
const MAX_LETTERS = 64

function add(sums: Float64Array, hash: number, weight: number): void {
  const at = (hash >>> 1) % sums.length
  sums[at] = (sums[at] ?? 0) + (hash & 1 ? weight : -weight)
}

/** FNV-1a with the last step of MurmurHash, which mixes the low bits: thousands of short pieces are hashed per call. */
function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

function answerOf(
  route: ModelRoute,
  { model, encoding_format: format }: Json,
  { vectors, used }: { readonly vectors: readonly number[][]; readonly used: number },
): object {
  const usageMetadata = { promptTokenCount: used, totalTokenCount: used }
  if (route === 'embed_content') return { embedding: { values: vectors[0] ?? [] }, usageMetadata }
  if (route === 'batch_embed_contents') return { embeddings: vectors.map((values) => ({ values })), usageMetadata }
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector,
    })),
    model,
    usage: { prompt_tokens: used, total_tokens: used },
  }
}
