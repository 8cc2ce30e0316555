import type { JsonSchema } from '../openapi/json-schema'

const TEXT = { type: 'string' }
const NUMBER = { type: 'number' }
const INTEGER = { type: 'integer' }
const AT_LEAST_ONE = { type: 'integer', minimum: 1 }
const YES_OR_NO = { type: 'boolean' }
const OBJECT = { type: 'object', additionalProperties: true }
const list = (items: JsonSchema) => ({ type: 'array', items })
const said = (description: string, schema: JsonSchema) => ({ ...schema, description })
/** A property that takes several forms, which generated clients pass through. */
const any = (description: string) => ({ description })
/**
 * An object of the vendor. Its usual properties are listed because generated Java sends an empty object for an optional one of which
 * none is known, which vendors refuse.
 */
const object = (properties: Readonly<Record<string, JsonSchema>>) => ({
  type: 'object',
  properties,
  additionalProperties: true,
})

const MODEL = said('The id of a model, of `GET /v1/models`.', TEXT)
const STREAM = said('Whether to send the answer as server-sent events.', YES_OR_NO)
const SAMPLING = { temperature: NUMBER, top_p: NUMBER }
const STOP = any('One text, or a list of texts, that end the answer.')
const PENALTIES = { presence_penalty: NUMBER, frequency_penalty: NUMBER, seed: INTEGER }
const LOGIT_BIAS = any('Biases from -100 to 100, by token.')
const TOOLS = {
  // No list: generated Java sends an empty one unasked, which OpenAI refuses.
  tools: any('A list of functions that the caller runs. Tools of the vendor are refused.'),
  tool_choice: any('Which tool the model may, or must, call.'),
  parallel_tool_calls: YES_OR_NO,
}
const TOOL_CHOICE = object({ type: TEXT, name: TEXT, disable_parallel_tool_use: YES_OR_NO })
const THINKING = object({ type: TEXT, budget_tokens: AT_LEAST_ONE })

/** The properties that callers of each model route use. A route takes more of the vendor's, which are not listed. */
const PROPERTIES = {
  chatCompletions: {
    model: MODEL,
    messages: said('The conversation so far.', {
      ...list(message(['system', 'developer', 'user', 'assistant', 'tool'])),
      minItems: 1,
    }),
    stream: STREAM,
    stream_options: object({ include_usage: YES_OR_NO }),
    max_tokens: said('At most this many tokens of output.', AT_LEAST_ONE),
    max_completion_tokens: said('The same, by its newer name.', AT_LEAST_ONE),
    n: AT_LEAST_ONE,
    ...SAMPLING,
    stop: STOP,
    ...PENALTIES,
    logit_bias: LOGIT_BIAS,
    logprobs: YES_OR_NO,
    top_logprobs: INTEGER,
    response_format: object({ type: TEXT, json_schema: any('Its name and schema.') }),
    ...TOOLS,
    reasoning_effort: TEXT,
    user: TEXT,
  },
  responses: {
    model: MODEL,
    input: any('A text, or a list of items: messages, calls of functions and their outputs.'),
    instructions: TEXT,
    stream: STREAM,
    max_output_tokens: AT_LEAST_ONE,
    ...SAMPLING,
    ...TOOLS,
    text: object({ format: any('The format of the text.'), verbosity: TEXT }),
    reasoning: object({ effort: TEXT, summary: TEXT }),
    include: list(TEXT),
    metadata: any('Texts by name, repeated in the answer.'),
    store: said('Answered false: nothing is stored.', YES_OR_NO),
    user: TEXT,
  },
  completions: {
    model: MODEL,
    prompt: said('A text, or a list of one text.', {
      anyOf: [TEXT, { ...list(TEXT), minItems: 1, maxItems: 1 }],
    }),
    stream: STREAM,
    max_tokens: AT_LEAST_ONE,
    ...SAMPLING,
    stop: STOP,
    ...PENALTIES,
    logit_bias: LOGIT_BIAS,
    user: TEXT,
  },
  messages: {
    model: MODEL,
    messages: said('The conversation so far.', { ...list(message(['user', 'assistant'])), minItems: 1 }),
    max_tokens: said('At most this many tokens of output.', AT_LEAST_ONE),
    system: any('A text, or a list of text blocks.'),
    stream: STREAM,
    ...SAMPLING,
    top_k: INTEGER,
    stop_sequences: list(TEXT),
    tools: TOOLS.tools,
    tool_choice: TOOL_CHOICE,
    thinking: THINKING,
    metadata: object({ user_id: TEXT }),
  },
  countTokens: {
    model: MODEL,
    messages: said('The conversation to count.', { ...list(message(['user', 'assistant'])), minItems: 1 }),
    system: any('A text, or a list of text blocks.'),
    tools: TOOLS.tools,
    tool_choice: TOOL_CHOICE,
    thinking: THINKING,
  },
  generateContent: {
    contents: said(
      'The conversation so far.',
      list({ type: 'object', properties: { role: TEXT, parts: list(OBJECT) }, additionalProperties: true }),
    ),
    systemInstruction: object({ parts: list(OBJECT) }),
    generationConfig: object({
      maxOutputTokens: AT_LEAST_ONE,
      temperature: NUMBER,
      topP: NUMBER,
      topK: NUMBER,
      responseMimeType: TEXT,
      responseSchema: any('The schema of a JSON answer.'),
      thinkingConfig: any('How much to think.'),
    }),
    tools: TOOLS.tools,
    toolConfig: object({ functionCallingConfig: any('Which functions the model may, or must, call.') }),
    safetySettings: list(OBJECT),
  },
  embeddings: {
    model: MODEL,
    input: said('A text, a list of up to 2048 texts, or of tokens.', {
      anyOf: [TEXT, { ...list({}), minItems: 1, maxItems: 2048 }],
    }),
    dimensions: AT_LEAST_ONE,
    encoding_format: { type: 'string', enum: ['float', 'base64'] },
    user: TEXT,
  },
  moderations: {
    model: MODEL,
    input: any('A text, a list of texts, or a list of parts of the type `text`.'),
  },
  generateImages: {
    model: MODEL,
    prompt: said('What the pictures show.', { ...TEXT, minLength: 1, maxLength: 32_000 }),
    n: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
    size: said('A size that the model has a price for. Defaults to the first of its price list.', TEXT),
    quality: said('A quality that the model has a price for.', TEXT),
    response_format: { type: 'string', enum: ['url', 'b64_json'] },
    style: TEXT,
    background: TEXT,
    output_format: TEXT,
    output_compression: AT_LEAST_ONE,
    moderation: TEXT,
    user: TEXT,
  },
  editImages: {
    model: MODEL,
    image: said('The picture to edit; several as `image[]`.', { ...TEXT, format: 'binary' }),
    mask: said('Where to edit it. Charged like a picture that is sent.', { ...TEXT, format: 'binary' }),
    prompt: said('What the pictures show.', { ...TEXT, minLength: 1, maxLength: 32_000 }),
    n: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
    size: said('A size that the model has a price for. Defaults to the first of its price list.', TEXT),
    quality: said('A quality that the model has a price for.', TEXT),
    response_format: { type: 'string', enum: ['url', 'b64_json'] },
  },
  speech: {
    model: MODEL,
    input: said('The text to speak.', { ...TEXT, minLength: 1 }),
    voice: any('The name of a voice.'),
    instructions: said('How to speak. Its characters are charged, too.', TEXT),
    response_format: said('Such as mp3, wav or pcm.', TEXT),
    speed: NUMBER,
  },
  transcriptions: {
    model: MODEL,
    file: said('The sound. Without `max_seconds` of the model: a WAV or MP3 file.', { ...TEXT, format: 'binary' }),
    language: TEXT,
    prompt: TEXT,
    response_format: { type: 'string', enum: ['json', 'verbose_json', 'diarized_json'], default: 'json' },
    temperature: NUMBER,
    'timestamp_granularities[]': list(TEXT),
    'include[]': list(TEXT),
    chunking_strategy: any('How the sound is cut, such as `auto`.'),
  },
  rerank: {
    model: MODEL,
    query: said('What the documents are compared with.', TEXT),
    documents: said('Texts, or objects with a `text`.', { type: 'array', items: {}, minItems: 1, maxItems: 2048 }),
    top_n: said('At most this many results.', AT_LEAST_ONE),
    max_tokens_per_doc: AT_LEAST_ONE,
    return_documents: YES_OR_NO,
  },
  deepResearch: {
    model: MODEL,
    query: said('The question; or send `messages`.', TEXT),
    messages: list(message(['system', 'developer', 'user', 'assistant', 'tool'])),
    stream: STREAM,
    max_searches: { type: 'integer', minimum: 1, maximum: 10, default: 4 },
    max_tokens: { type: 'integer', minimum: 1, maximum: 16_384, default: 1024 },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>

/** A model route, by its operation id. */
export type ModelCallId = keyof typeof PROPERTIES

/** The body of a call to a model. Vendors add properties, so none is refused by name here. */
export function modelBody(id: ModelCallId, required: readonly string[]): JsonSchema {
  return {
    type: 'object',
    properties: PROPERTIES[id],
    ...(required.length > 0 && { required }),
    additionalProperties: true,
  }
}

function message(roles: readonly string[]): JsonSchema {
  const content = any('A text, or a list of parts.')
  return {
    type: 'object',
    properties: { role: { type: 'string', enum: roles }, content },
    required: ['role'],
    additionalProperties: true,
  }
}

/** The shape of an answer as its example shows it, without promises about what vendors leave out or add. */
export function shapeOf(example: unknown): JsonSchema {
  if (Array.isArray(example)) return list(shapeOf(example[0]))
  if (typeof example === 'string') return TEXT
  if (typeof example === 'boolean') return YES_OR_NO
  if (typeof example === 'number') return NUMBER
  if (typeof example !== 'object' || example === null) return {}
  const properties = Object.entries(example).map(([name, value]) => [name, shapeOf(value)])
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: true }
}
