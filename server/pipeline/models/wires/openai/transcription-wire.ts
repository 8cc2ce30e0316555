import { failure } from '../../../../core/failure'
import { jsonText, membersOf } from '../../../../core/json'
import { err, ok } from '../../../../core/result'
import { formParts, partText, writtenForm } from '../form-parts'
import { edited } from '../json/json-members'
import { invalidMember, missingMember } from '../model-request'
import { type ModelWire, PLAIN_REQUEST } from '../model-wire'
import { covered, type MemberRules, only, uncovered } from '../priced-members'
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
const LISTS: readonly string[] = ['timestamp_granularities[]', 'include[]']

/** OpenAI's transcription of sound, also implemented by Groq, vLLM and others: a form with a file. */
export const TRANSCRIPTIONS: ModelWire = {
  ...UNIT_CALLS,
  route: 'transcriptions',
  isForm: true,
  read(bytes, { boundary }) {
    const parts = boundary === undefined ? null : formParts(bytes, boundary)
    if (!parts) return err(failure('invalid_request', 'The body must be multipart/form-data, as the SDKs send it.'))
    const fields: Record<string, string> = {}
    let file: Uint8Array | null = null
    for (const part of parts) {
      const { name, content } = part
      const isTwice = name === 'file' ? file !== null : Object.hasOwn(fields, name) && !LISTS.includes(name)
      if (isTwice) return invalidMember(name, 'must be sent once')
      if (name === 'file') file = content
      else {
        const text = partText(part)
        if (text === null) return invalidMember(name, 'must be text')
        fields[name] = text
      }
    }
    const { model } = fields
    if (model === undefined) return missingMember('model')
    if (file === null) return missingMember('file')
    if (file.length === 0) return invalidMember('file', 'must not be empty')
    const form = writtenForm(parts)
    const at = form.starts[parts.findIndex(({ name }) => name === 'model')] ?? 0
    const seconds = soundSeconds(file)
    return ok({
      ...PLAIN_REQUEST,
      bytes: form.bytes,
      boundary: form.boundary,
      members: new Map([['model', { nameStart: at, start: at, end: at + Buffer.byteLength(model) }]]),
      model,
      units: {
        unit: 'second',
        // A vendor rounds up, and counts what a decoder adds at the ends.
        count: seconds === null ? null : Math.ceil(seconds) + 1,
        likely: Math.ceil(seconds ?? file.length / USUAL_BYTES_PER_SECOND),
      },
      uncovered: uncovered(fields, MEMBERS),
    })
  },
  bodyFor({ bytes, members, model }, upstream) {
    const member = members.get('model')
    return upstream.model === model || !member ? bytes : edited(bytes, [{ ...member, text: upstream.model }])
  },
  unitsOf({ usage, duration }) {
    const { type, seconds } = membersOf(usage)
    const length = Number(type === 'duration' ? seconds : (duration ?? Number.NaN))
    return length >= 0 && length < 10_000_000 ? Math.max(1, Math.ceil(length)) : null
  },
  answerOf: ({ text }, _, bytes) => (typeof text === 'string' ? bytes : null),
}
