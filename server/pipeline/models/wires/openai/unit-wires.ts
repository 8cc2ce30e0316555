import { elementsOf, isJson, type Json } from '../../../../core/json'
import type { ModelUpstream } from '../../../../core/models/model'
import type { UnitsAsked } from '../../../../core/models/unit-price'
import { ok } from '../../../../core/result'
import { formFor, readFormCall } from '../form-call'
import { assigned, edited } from '../json/json-members'
import { invalidMember, type ModelRequest, missingMember, positive, readModelBody } from '../model-request'
import { type ModelWire, PLAIN_ANSWERS, PLAIN_REQUEST } from '../model-wire'
import { COVERED, covered, type MemberRules, only, uncovered } from '../priced-members'

/** Reads a call whose price depends on what it asks for. `asked` returns the rule that a member breaks instead of the units. */
export function readUnitCall(
  bytes: Uint8Array<ArrayBuffer>,
  rules: MemberRules,
  required: readonly string[],
  asked: (json: Json) => UnitsAsked | readonly [param: string, rule: string],
) {
  const read = readModelBody(bytes)
  if (!read.ok) return read
  const { json, members } = read.value
  const { model } = json
  const absent = ['model', ...required].find((name) => json[name] === undefined)
  if (absent !== undefined) return missingMember(absent)
  if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
  const units = asked(json)
  if (!('unit' in units)) return invalidMember(...units)
  return ok({ ...PLAIN_REQUEST, bytes, members, model, units, uncovered: uncovered(json, rules) })
}

/** The half of such an API that is the same for all: the body as it came, but for the model's name and what the price depends on. */
export const UNIT_CALLS = {
  ...PLAIN_ANSWERS,
  bodyFor({ bytes, members, model, defaults = {} }: ModelRequest, upstream: ModelUpstream) {
    const set = { ...(upstream.model !== model && { model: upstream.model }), ...defaults }
    return edited(
      bytes,
      Object.entries(set).map(([name, value]) => assigned(bytes, members, name, value)),
    )
  },
  // Nothing in the answer is metered per token.
  usageOf: () => null,
}

/** The characters of a text, as its reader counts them: two halves of a surrogate pair are one. */
function charactersOf(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if ((text.charCodeAt(at) & 0xfc00) !== 0xd800 || (text.charCodeAt(at + 1) & 0xfc00) !== 0xdc00) continue
    count--
    at++
  }
  return count
}

/** What OpenAI accepts in one call. */
const MAX_IMAGES = 10
const MAX_PROMPT_CHARACTERS = 32_000

/** Members that change the look of a picture, not its price. `size` and `quality` select the price. */
const IMAGE_MEMBERS: MemberRules = {
  ...covered('model', 'prompt', 'n', 'size', 'quality', 'style', 'response_format', 'user'),
  ...covered('background', 'moderation', 'output_format', 'output_compression'),
  stream: only(false),
  partial_images: only(0),
}

function picturesAsked({ prompt, n, size = null, quality = null }: Json) {
  if (typeof prompt !== 'string' || prompt === '' || charactersOf(prompt) > MAX_PROMPT_CHARACTERS)
    return ['prompt', `must be a string of 1 to ${MAX_PROMPT_CHARACTERS} characters`] as const
  const count = positive(n)
  if (count === undefined || (count ?? 1) > MAX_IMAGES)
    return ['n', `must be a whole number from 1 to ${MAX_IMAGES}`] as const
  if (typeof size !== 'string' && size !== null) return ['size', 'must be a string such as 1024x1024'] as const
  if (typeof quality !== 'string' && quality !== null) return ['quality', 'must be a string such as hd'] as const
  return { unit: 'image', count: count ?? 1, size, quality } as const
}

/** The pictures in an answer, which is none without one. */
const PICTURES: Pick<ModelWire, 'unitsOf' | 'answerOf'> = {
  unitsOf: ({ data }) => elementsOf(data).filter(isImage).length,
  answerOf: ({ data }, _, bytes) => (elementsOf(data).some(isImage) ? bytes : null),
}

export const IMAGE_GENERATIONS: ModelWire = {
  ...UNIT_CALLS,
  route: 'image_generations',
  read: (bytes) => readUnitCall(bytes, IMAGE_MEMBERS, ['prompt'], picturesAsked),
  ...PICTURES,
}

/** An edit has forms of the same values. A file and its mask are charged as pictures that are sent. */
const EDIT_MEMBERS: MemberRules = {
  ...IMAGE_MEMBERS,
  stream: only('false'),
  partial_images: only('0'),
  input_fidelity: only('low'),
}
/** What OpenAI accepts in one call, and a mask. */
const MAX_SENT = 17

/** OpenAI's edits of pictures: a form with them. */
export const IMAGE_EDITS: ModelWire = {
  ...UNIT_CALLS,
  route: 'image_edits',
  isForm: true,
  read: (bytes, path) =>
    readFormCall(bytes, path, {
      members: EDIT_MEMBERS,
      lists: ['image[]'],
      files: ['image', 'image[]', 'mask'],
      asked(fields, files) {
        const { n } = fields
        const asked = picturesAsked({ ...fields, ...(n !== undefined && { n: /^\d{1,2}$/.test(n) ? Number(n) : n }) })
        if (!('unit' in asked)) return asked
        if (files.every(({ name }) => name === 'mask')) return ['image', 'must be a picture']
        if (files.length > MAX_SENT) return ['image', `must be at most ${MAX_SENT - 1} pictures`]
        return { ...asked, sent: files.length }
      },
    }),
  bodyFor: formFor,
  ...PICTURES,
}

function isImage(one: unknown): boolean {
  return isJson(one) && [one['b64_json'], one['url']].some((image) => typeof image === 'string' && image !== '')
}

const MAX_INPUTS = 2048

/** A price per character covers texts only. */
const MODERATION_MEMBERS: MemberRules = {
  model: COVERED,
  input: (value, path) =>
    Array.isArray(value) && value.some((part) => isJson(part) && part['type'] === 'image_url')
      ? [`${path}.image_url`]
      : [],
}

export const MODERATIONS: ModelWire = {
  ...UNIT_CALLS,
  route: 'moderations',
  read: (bytes) =>
    readUnitCall(bytes, MODERATION_MEMBERS, ['input'], ({ input }) => {
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

/** Much more than vendors accept, and hours of sound. */
const MAX_CHARACTERS = 100_000

const SPEECH_MEMBERS: MemberRules = {
  ...covered('model', 'input', 'voice', 'instructions', 'response_format', 'speed'),
  stream_format: only('audio'),
}

/** OpenAI's speech: the sound of a text, in one piece. */
export const SPEECH: ModelWire = {
  ...UNIT_CALLS,
  route: 'speech',
  isBinary: true,
  read: (bytes) =>
    readUnitCall(bytes, SPEECH_MEMBERS, ['input', 'voice'], ({ input, instructions = null }) => {
      if (typeof input !== 'string' || input === '') return ['input', 'must be a string']
      if (typeof instructions !== 'string' && instructions !== null) return ['instructions', 'must be a string']
      // Instructions are read by the model like the text.
      const count = charactersOf(input) + charactersOf(instructions ?? '')
      return count > MAX_CHARACTERS
        ? ['input', `and instructions must have at most ${MAX_CHARACTERS} characters`]
        : { unit: 'character', count }
    }),
}
