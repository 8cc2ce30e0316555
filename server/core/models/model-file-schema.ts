/**
 * What a file of models holds, as JSON Schema (2020-12): editors complete and check by it, and the judge of entries takes the
 * names, the words and the bounds from it, so that both know the same. What JSON Schema cannot say stands with the judge.
 */
type Schema = Readonly<Record<string, unknown>>

/** A name such as `gpt-4o` or `meta/llama-3`; not below `sandbox/`, which is ours. */
export const MODEL_ID = /^(?!sandbox\/)[A-Za-z0-9][A-Za-z0-9._:@-]*(\/[A-Za-z0-9][A-Za-z0-9._:@-]*){0,4}$/
export const MAX_ID_CHARACTERS = 128
/** The name of a variable of the environment. */
export const KEY_ENV = /^[A-Za-z_][A-Za-z0-9_]*$/
export const MAX_TEXT_CHARACTERS = 200
export const MAX_COUNT = 10_000_000_000
export const MAX_UPSTREAMS = 8
/** A member of a body by its path, such as `prediction`, `tools.web_search_20250305` or `generationConfig.speechConfig`. */
export const MEMBER_PATH = /^[A-Za-z0-9_-]{1,60}(\.[A-Za-z0-9_-]{1,60}){0,2}$/
export const BETA_NAME = /^[A-Za-z0-9_.-]{1,100}$/
export const MAX_NAMES = 64
/** USD per million tokens. */
export const MAX_PRICE = 1_000_000
export const UPSTREAM_KINDS = ['openai', 'anthropic', 'gemini'] as const
export const CAP_PARAMETERS = ['max_tokens', 'max_completion_tokens'] as const

const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength: MAX_TEXT_CHARACTERS,
  description,
  ...more,
})
const count = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  minimum: 1,
  maximum: MAX_COUNT,
  description,
  ...more,
})
const names = (description: string, pattern: RegExp, examples: readonly string[]): Schema => ({
  type: 'array',
  items: { type: 'string', pattern: pattern.source, examples },
  maxItems: MAX_NAMES,
  default: [],
  description,
})
const usd = (description: string): Schema => ({
  type: 'number',
  minimum: 0,
  maximum: MAX_PRICE,
  description: `${description}, USD per million tokens, at most 6 decimals.`,
})

export const UPSTREAM_MEMBERS = {
  kind: {
    enum: UPSTREAM_KINDS,
    description: 'The wire it speaks; `openai` is every server that speaks as OpenAI does.',
  },
  base_url: text("Address with the version's path. Default: the vendor's own.", {
    pattern: '^https?://',
    examples: ['https://api.openai.com/v1', 'http://127.0.0.1:11434/v1'],
  }),
  key_env: text('The variable of the environment that holds our key there. Never the key itself.', {
    pattern: KEY_ENV.source,
    examples: ['OPENAI_API_KEY'],
  }),
  model: text('Its name there. Default: its id here.'),
  concurrency: count('Most calls under way at once.', { default: 64 }),
  connect_timeout_ms: count('Longest wait for a connection.', { default: 5_000 }),
  first_byte_timeout_ms: count('Longest wait for an answer.', { default: 300_000 }),
  idle_timeout_ms: count('Longest silence within a stream.', { default: 60_000 }),
  cap_parameter: {
    enum: CAP_PARAMETERS,
    description: 'How the server calls the output cap that we set where the caller set none.',
  },
} as const satisfies Readonly<Record<string, Schema>>

export const PRICE_MEMBERS = {
  input: usd('Input'),
  output: usd('Output'),
  cache_read: usd('Input read from a cache; default: as input'),
  cache_write: usd('Input written to a cache; required at Anthropic; default elsewhere: as input'),
  cache_write_1h: usd('Input that a cache keeps for an hour; default at Anthropic: twice the input'),
} as const satisfies Readonly<Record<string, Schema>>

const UPSTREAM: Schema = {
  type: 'object',
  description: 'Where calls go.',
  properties: UPSTREAM_MEMBERS,
  required: ['kind'],
  additionalProperties: false,
}

export const ENTRY_MEMBERS = {
  id: {
    type: 'string',
    maxLength: MAX_ID_CHARACTERS,
    pattern: MODEL_ID.source,
    description: 'What callers name.',
    examples: ['gpt-4o', 'meta/llama-3'],
  },
  upstream: UPSTREAM,
  upstreams: {
    type: 'array',
    items: UPSTREAM,
    minItems: 1,
    maxItems: MAX_UPSTREAMS,
    description: 'Several, in order of preference, in place of `upstream`.',
  },
  price: {
    type: 'object',
    description: 'A model without a price is refused; a free one says 0.',
    properties: PRICE_MEMBERS,
    required: ['input', 'output'],
    additionalProperties: false,
  },
  owned_by: text('Who makes it. Default: the kind of its first upstream.'),
  created: count('UNIX time in seconds.'),
  recharge_required: {
    type: 'boolean',
    default: true,
    description: 'Whether only accounts that topped up may call it; signup credit pays for the others.',
  },
  context_tokens: count('Most tokens of input and output.'),
  max_output_tokens: count('Most tokens of output.'),
  default_output_tokens: count('The output cap of a call that names none.'),
  image_tokens: count('Most tokens of one image.', { default: 16_384 }),
  extra_members: names(
    'Members of a body that go to the vendor although the price per token does not cover them.',
    MEMBER_PATH,
    ['prediction', 'tools.web_search_20250305'],
  ),
  betas: names('Values of anthropic-beta that pass, beside those known not to change billing.', BETA_NAME, [
    'context-1m-2025-08-07',
  ]),
  family: text('Models of one family share `family_rpm`.'),
  family_rpm: count("Requests per minute and key, of the whole family: the upstream's quota."),
  stops_billing: {
    type: 'boolean',
    default: false,
    description:
      'Whether the vendor bills a stream that is ended early only as far as it came: then a caller who hangs up ends it, where the call asks for no reasoning and no tool of the vendor. Never for a model that reasons by itself.',
  },
  tokens_per_second: count(
    'How fast it writes: what a stream whose end nobody saw is reckoned by, at most what was held.',
    {
      default: 100,
    },
  ),
} as const satisfies Readonly<Record<string, Schema>>

/** Whether an upstream of that name in an entry is Anthropic's. */
const isAnthropic: Schema = { type: 'object', properties: { kind: { const: 'anthropic' } }, required: ['kind'] }

/** `docs/models.schema.json` is this, and a test holds it to that. */
export const MODEL_FILE_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Models that the gateway sells (MODELS_FILE)',
  type: 'object',
  properties: {
    $schema: { type: 'string', description: 'Where this schema is, for the editor.' },
    models: { type: 'array', items: { $ref: '#/$defs/model' }, description: 'The models.' },
  },
  required: ['models'],
  $defs: {
    model: {
      type: 'object',
      description: 'One model.',
      properties: ENTRY_MEMBERS,
      required: ['id', 'price'],
      additionalProperties: false,
      anyOf: [{ required: ['upstream'] }, { required: ['upstreams'] }],
      dependentRequired: { family: ['family_rpm'], family_rpm: ['family'] },
      if: {
        anyOf: [
          { properties: { upstreams: { type: 'array', contains: isAnthropic } }, required: ['upstreams'] },
          { properties: { upstream: isAnthropic }, required: ['upstream'], not: { required: ['upstreams'] } },
        ],
      },
      // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
      then: { properties: { price: { type: 'object', required: ['cache_write'] } } },
    },
  },
}
