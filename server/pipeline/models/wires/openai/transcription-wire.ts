import { jsonText, membersOf } from '../../../../core/json'
import { formFor, readFormCall } from '../form-call'
import type { ModelWire } from '../model-wire'
import { covered, type MemberRules, only } from '../priced-members'
import { soundSeconds } from './sound-length'
import { UNIT_CALLS } from './unit-wires'

/** A file whose length its bytes do not tell is estimated at this rate, where the vendor does not say it either. */
const USUAL_BYTES_PER_SECOND = 16_000

const MEMBERS: MemberRules = {
  ...covered(
    'model',
    'language',
    'prompt',
    'temperature',
    'timestamp_granularities[]',
    'include[]',
    'chunking_strategy',
  ),
  // The others do not say how long the sound was.
  response_format: (value, path) =>
    ['json', 'verbose_json', 'diarized_json'].includes(jsonText(value)) ? [] : [`${path}.${jsonText(value)}`],
  stream: only('false'),
}

/** OpenAI's transcription of sound, also implemented by Groq, vLLM and others: a form with a file. */
export const TRANSCRIPTIONS: ModelWire = {
  ...UNIT_CALLS,
  route: 'transcriptions',
  isForm: true,
  read: (bytes, path) =>
    readFormCall(bytes, path, {
      members: MEMBERS,
      lists: ['timestamp_granularities[]', 'include[]'],
      files: ['file'],
      asked(_, [file]) {
        const content = file?.content ?? new Uint8Array()
        const seconds = soundSeconds(content)
        return {
          unit: 'second',
          // A vendor rounds up, and counts what a decoder adds at the ends.
          count: seconds === null ? null : Math.ceil(seconds) + 1,
          likely: Math.ceil(seconds ?? content.length / USUAL_BYTES_PER_SECOND),
        }
      },
    }),
  bodyFor: formFor,
  unitsOf({ usage, duration }) {
    const { type, seconds } = membersOf(usage)
    const length = Number(type === 'duration' ? seconds : (duration ?? Number.NaN))
    return length >= 0 && length < 10_000_000 ? Math.max(1, Math.ceil(length)) : null
  },
  answerOf: ({ text }, _, bytes) => (typeof text === 'string' ? bytes : null),
}
