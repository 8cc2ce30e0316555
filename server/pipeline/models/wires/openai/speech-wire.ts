import type { ModelWire } from '../model-wire'
import { COVERED, type MemberRules, only } from '../priced-members'
import { charactersOf, readUnitCall, UNIT_CALLS } from './unit-call'

/** Much more than vendors accept, and hours of sound. */
const MAX_CHARACTERS = 100_000

const MEMBERS: MemberRules = {
  ...Object.fromEntries(
    ['model', 'input', 'voice', 'instructions', 'response_format', 'speed'].map((name) => [name, COVERED]),
  ),
  stream_format: only('audio'),
}

/** OpenAI's speech: the sound of a text, in one piece. */
export const SPEECH: ModelWire = {
  ...UNIT_CALLS,
  route: 'speech',
  isBinary: true,
  read: (bytes) =>
    readUnitCall(bytes, MEMBERS, ['input', 'voice'], ({ input, instructions = null }) => {
      if (typeof input !== 'string' || input === '') return ['input', 'must be a string']
      if (typeof instructions !== 'string' && instructions !== null) return ['instructions', 'must be a string']
      // Instructions are read by the model like the text.
      const count = charactersOf(input) + charactersOf(instructions ?? '')
      return count > MAX_CHARACTERS
        ? ['input', `and instructions must have at most ${MAX_CHARACTERS} characters`]
        : { unit: 'character', count }
    }),
}
