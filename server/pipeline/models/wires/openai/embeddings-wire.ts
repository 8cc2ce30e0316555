import { isCount, isJson } from '../../../../core/json'
import { ok } from '../../../../core/result'
import { edited } from '../json/json-members'
import { invalidMember, missingMember, positive, readModelBody } from '../model-request'
import { type ModelWire, PLAIN_ANSWERS, PLAIN_REQUEST } from '../model-wire'
import { covered, uncovered } from '../priced-members'
import { embeddingUsage } from '../token-usage'

/** What OpenAI accepts in one call. */
const MAX_INPUTS = 2048
/** A token that the caller counted itself counts as this many bytes of text. */
const TOKEN_BYTES = 4

/** The properties of an embeddings call that a token price covers. */
const MEMBERS = covered('model', 'input', 'dimensions', 'encoding_format', 'user')

/** OpenAI's embeddings, also implemented by Ollama, vLLM, LM Studio and many more. */
export const EMBEDDINGS: ModelWire = {
  route: 'embeddings',
  read(bytes) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { json, members } = read.value
    const { model, input, dimensions, encoding_format: format } = json
    if (model === undefined) return missingMember('model')
    if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
    if (input === undefined) return missingMember('input')
    const textBytes = bytesOfInput(input)
    if (textBytes === null)
      return invalidMember(
        'input',
        `must be text, a list of 1 to ${MAX_INPUTS} texts, or texts as lists of token numbers`,
      )
    if (positive(dimensions) === undefined) return invalidMember('dimensions', 'must be a whole number above 0')
    if (format !== undefined && format !== null && format !== 'float' && format !== 'base64')
      return invalidMember('encoding_format', 'must be float or base64')
    return ok({
      ...PLAIN_REQUEST,
      bytes,
      members,
      model,
      textBytes,
      uncovered: uncovered(json, MEMBERS),
    })
  },
  bodyFor({ bytes, members, model }, upstream) {
    const member = members.get('model')
    if (upstream.model === model || !member) return bytes
    return edited(bytes, [{ ...member, text: JSON.stringify(upstream.model) }])
  },
  usageOf: (answer) => embeddingUsage(answer['usage'], 'prompt_tokens', 'total_tokens'),
  answerOf: ({ data, usage }, _request, bytes) => (Array.isArray(data) || isJson(usage) ? bytes : null),
  ...PLAIN_ANSWERS,
}

/** The bytes of the texts in `input`; null if it is nothing that can be embedded. */
function bytesOfInput(input: unknown): number | null {
  if (typeof input === 'string') return Buffer.byteLength(input)
  if (!Array.isArray(input) || input.length === 0) return null
  if (input.every(isCount)) return input.length * TOKEN_BYTES
  if (input.length > MAX_INPUTS) return null
  let bytes = 0
  for (const one of input) {
    if (typeof one === 'string') bytes += Buffer.byteLength(one)
    else if (Array.isArray(one) && one.length > 0 && one.every(isCount)) bytes += one.length * TOKEN_BYTES
    else return null
  }
  return bytes
}
