import type { EndpointDocs } from '../openapi/documented'
import { call } from './call-docs'

const MODERATION = call(
  'moderations',
  'Moderations',
  "Judges texts. Works with OpenAI's SDK. Charged per character of `input`.",
  { example: { model: 'sandbox/moderate', input: 'Hello' }, required: ['model', 'input'] },
  {
    id: 'modr-1',
    model: 'sandbox/moderate',
    results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.0001 } }],
  },
)

const IMAGES = call(
  'generateImages',
  'Generate pictures',
  "Draws pictures. Works with OpenAI's SDK. Charged per picture that arrives, at the model's price for its size and quality; a call that names neither gets the first that the model lists. A size or quality without a price, streams and partial pictures are rejected with 422.",
  { example: { model: 'sandbox/draw', prompt: 'An otter', size: '256x256' }, required: ['model', 'prompt'] },
  { created: 1_767_225_600, data: [{ b64_json: 'iVBORw0KGgo=' }] },
)

const SPOKEN = call(
  'speech',
  'Speech',
  "Speaks a text. Works with OpenAI's SDK. Charged per character of `input` and `instructions`. The sound is sent in one piece.",
  { example: { model: 'sandbox/speak', input: 'Hello', voice: 'alloy' }, required: ['model', 'input', 'voice'] },
  {},
)

/** The model calls that are charged per character or picture. */
export const MEDIA_DOCS = {
  moderations: MODERATION,
  images: IMAGES,
  speech: {
    ...SPOKEN,
    answers: {
      200: {
        description: 'The sound, in the format that the content type names.',
        contentType: 'audio/*',
        schema: { type: 'string', format: 'binary' },
        examples: {},
        canBeQuote: true,
        headers: ['X-Cost-Micros-USD', 'Idempotency-Replayed'],
      },
    },
  },
} as const satisfies Record<string, EndpointDocs>
