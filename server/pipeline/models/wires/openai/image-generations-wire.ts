import { elementsOf, isJson } from '../../../../core/json'
import { positive } from '../model-request'
import type { ModelWire } from '../model-wire'
import { COVERED, type MemberRules, only } from '../priced-members'
import { charactersOf, readUnitCall, UNIT_CALLS } from './unit-call'

/** What OpenAI accepts in one call. */
const MAX_IMAGES = 10
const MAX_PROMPT_CHARACTERS = 32_000

/** Members that change the look of a picture, not its price. `size` and `quality` select the price. */
const MEMBERS: MemberRules = {
  ...Object.fromEntries(
    [
      ...['model', 'prompt', 'n', 'size', 'quality', 'style', 'response_format', 'user'],
      ...['background', 'moderation', 'output_format', 'output_compression'],
    ].map((name) => [name, COVERED]),
  ),
  stream: only(false),
  partial_images: only(0),
}

/** OpenAI's generation of pictures. */
export const IMAGE_GENERATIONS: ModelWire = {
  ...UNIT_CALLS,
  route: 'image_generations',
  read: (bytes) =>
    readUnitCall(bytes, MEMBERS, ['prompt'], ({ prompt, n, size = null, quality = null }) => {
      if (typeof prompt !== 'string' || prompt === '' || charactersOf(prompt) > MAX_PROMPT_CHARACTERS)
        return ['prompt', `must be a string of 1 to ${MAX_PROMPT_CHARACTERS} characters`]
      const count = positive(n)
      if (count === undefined || (count ?? 1) > MAX_IMAGES)
        return ['n', `must be a whole number from 1 to ${MAX_IMAGES}`]
      if (typeof size !== 'string' && size !== null) return ['size', 'must be a string such as 1024x1024']
      if (typeof quality !== 'string' && quality !== null) return ['quality', 'must be a string such as hd']
      return { unit: 'image', count: count ?? 1, size, quality }
    }),
  unitsOf: ({ data }) => elementsOf(data).filter(isImage).length,
  answerOf: ({ data }, _, bytes) => (elementsOf(data).some(isImage) ? bytes : null),
}

function isImage(one: unknown): boolean {
  return isJson(one) && [one['b64_json'], one['url']].some((image) => typeof image === 'string' && image !== '')
}
