import { isJson } from '../../../../core/json'
import type { ModelWire } from '../model-wire'
import { COVERED, type MemberRules } from '../priced-members'
import { charactersOf, readUnitCall, UNIT_CALLS } from './unit-call'

const MAX_INPUTS = 2048

/** A price per character covers texts only. */
const MEMBERS: MemberRules = {
  model: COVERED,
  input: (value, path) =>
    Array.isArray(value) && value.some((part) => isJson(part) && part['type'] === 'image_url')
      ? [`${path}.image_url`]
      : [],
}

/** OpenAI's moderations. */
export const MODERATIONS: ModelWire = {
  ...UNIT_CALLS,
  route: 'moderations',
  read: (bytes) =>
    readUnitCall(bytes, MEMBERS, ['input'], ({ input }) => {
      const count = charactersOfInput(input)
      return count === null
        ? ['input', `must be text, or a list of 1 to ${MAX_INPUTS} texts or parts of the type text`]
        : { unit: 'character', count }
    }),
  answerOf: ({ results }, _, bytes) => (Array.isArray(results) && results.length > 0 ? bytes : null),
}

function charactersOfInput(input: unknown): number | null {
  if (typeof input === 'string') return charactersOf(input)
  if (!Array.isArray(input) || input.length === 0 || input.length > MAX_INPUTS) return null
  let count = 0
  for (const one of input) {
    if (typeof one === 'string') count += charactersOf(one)
    else if (isJson(one) && one['type'] === 'text' && typeof one['text'] === 'string')
      count += charactersOf(one['text'])
    else if (!isJson(one) || one['type'] !== 'image_url') return null
  }
  return count
}
