import { TIERS } from '../limits/tier'
import { MODEL_PURPOSES, UPSTREAM_ORDERS } from './model'
import type { TokenKind, TokenPart } from './model-tokens'

/**
 * The JSON Schema (2020-12) of MODELS_FILE. Editors use it to complete and check the file. `parseModelEntry` uses its names and
 * bounds, so that both agree, and adds the rules that JSON Schema cannot express.
 */
type Schema = Readonly<Record<string, unknown>>

/** A name such as `gpt-4o` or `meta/llama-3`. `sandbox/` is reserved for the gateway's own models. */
export const MODEL_ID = /^(?!sandbox\/)[A-Za-z0-9][A-Za-z0-9._:@-]*(\/[A-Za-z0-9][A-Za-z0-9._:@-]*){0,4}$/
export const MAX_ID_CHARACTERS = 128
/** The name of an environment variable. */
export const KEY_ENV = /^[A-Za-z_][A-Za-z0-9_]*$/
/** The name of a vendor that an operator added on the dashboard or the command line. */
export const VENDOR_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/
export const MAX_TEXT_CHARACTERS = 200
export const MAX_COUNT = 10_000_000_000
export const MAX_UPSTREAMS = 8
export const MAX_FALLBACKS = 4
export const MAX_WEIGHT = 1000
export const MAX_CACHE_SECONDS = 604_800
/** The path of a body property, such as `prediction`, `tools.web_search_20250305` or `generationConfig.speechConfig`. */
export const MEMBER_PATH = /^[A-Za-z0-9_-]{1,60}(\.[A-Za-z0-9_-]{1,60}){0,2}$/
export const ACCOUNT_ID = /^acct_[0-9a-f]{32}$/
export const MAX_ACCOUNTS = 1000
export const BETA_NAME = /^[A-Za-z0-9_.-]{1,100}$/
export const MAX_NAMES = 64
/** A size or quality of a picture. */
export const SIZE_NAME = /^[A-Za-z0-9._-]{1,40}$/
/** A service tier of a vendor. Rules without one are for the tiers that cost the usual price. */
export const TIER_NAME = /^[a-z0-9_-]{1,40}$/
export const USUAL_TIERS: ReadonlySet<string> = new Set(['auto', 'default', 'standard', 'standard_only', 'unspecified'])
/** A tool of a vendor, without the date of its version. */
export const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_]{0,59}$/
/** Several times what the longest published price list needs: four tiers in two sizes. */
export const MAX_RULES = 32
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
const sizeName = (description: string, examples: readonly string[]): Schema => ({
  type: 'string',
  pattern: SIZE_NAME.source,
  description,
  examples,
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
    description: "The upstream's API. `openai` stands for every OpenAI-compatible server.",
  },
  base_url: text("URL including the version path. Defaults to the vendor's URL.", {
    pattern: '^https?://',
    examples: ['https://api.openai.com/v1', 'http://127.0.0.1:11434/v1'],
  }),
  key_env: text("The environment variable with the upstream's API key. Never the key itself.", {
    pattern: KEY_ENV.source,
    examples: ['OPENAI_API_KEY'],
  }),
  vendor: text(
    'The vendor that an operator added, instead of `key_env`: its key is used. `base_url` must be that of the vendor; `operator model put` fills it in.',
    { pattern: VENDOR_NAME.source, examples: ['openai'] },
  ),
  model: text("The model's name at the upstream. Defaults to its id."),
  weight: count('Its share of the calls, where the order is `weighted`.', { maximum: MAX_WEIGHT, default: 1 }),
  concurrency: count('Maximum number of concurrent calls.', { default: 128 }),
  connect_timeout_ms: count('Maximum wait for a connection.', { default: 5_000 }),
  first_byte_timeout_ms: count('Maximum wait for a response.', { default: 300_000 }),
  idle_timeout_ms: count('Maximum silence within a stream.', { default: 60_000 }),
  cap_parameter: {
    enum: CAP_PARAMETERS,
    description: "The server's name of the output limit, which the gateway sets when the caller does not.",
  },
  responses: {
    type: 'boolean',
    description:
      'Whether the server has the Responses API itself. Otherwise calls of `/v1/responses` reach it as chat completions. Defaults to true for api.openai.com only.',
  },
} as const satisfies Readonly<Record<string, Schema>>

const fee = (description: string): Schema => ({ type: 'number', minimum: 0, maximum: MAX_PRICE, description })

const RATE_MEMBERS = {
  input: usd('Input'),
  output: usd('Output'),
  cache_read: usd('Input read from a cache (default: same as input)'),
  cache_write: usd(
    'Input written to a cache for minutes (required for Anthropic, otherwise default: 1.25 times the input)',
  ),
  cache_write_1h: usd('Input cached for an hour (default: twice the input)'),
  cache_write_12h: usd('Input cached for 12 hours or longer (default: twice the input)'),
  cache_read_audio: usd('Sound read from a cache (default: same as input_audio)'),
  input_audio: usd('Sound. Without it, calls with sound are refused'),
  input_image: usd('Pictures (default: same as input)'),
  output_reasoning: usd('Reasoning (default: same as output)'),
  output_audio: usd('Speech. Without it, calls that ask for it are refused'),
  output_image: usd('Written pictures. Without it, calls that ask for them are refused'),
} as const satisfies Readonly<Record<TokenKind | TokenPart, Schema>>

export const RATE_NAMES = Object.keys(RATE_MEMBERS) as readonly (keyof typeof RATE_MEMBERS)[]

export const TOOL_PRICE_MEMBERS = {
  usd: fee('USD per use.'),
  input_tokens: count('The most tokens that one use adds to the input. Without it, context_tokens bounds them.'),
} as const satisfies Readonly<Record<string, Schema>>

export const PRICE_MEMBERS = {
  ...RATE_MEMBERS,
  above: count('Only for calls with more input tokens than this. They cost the same from their first token on.'),
  tier: {
    type: 'string',
    pattern: TIER_NAME.source,
    not: { enum: [...USUAL_TIERS] },
    description:
      'Only for calls that the vendor served at this tier. Without such a rule, calls that ask for the tier are refused.',
    examples: ['priority', 'flex', 'fast'],
  },
  request: fee('USD per call, in addition to its tokens.'),
  tools: {
    type: 'object',
    description:
      "USD per use of the vendor's own tools, by their names without a date. Calls with other tools of the vendor are refused.",
    propertyNames: { pattern: TOOL_NAME.source },
    maxProperties: MAX_NAMES,
    additionalProperties: {
      anyOf: [
        fee('USD per use.'),
        { type: 'object', properties: TOOL_PRICE_MEMBERS, required: ['usd'], additionalProperties: false },
      ],
    },
  },
} as const satisfies Readonly<Record<string, Schema>>

/** Members of a price that is not per token. */
export const UNIT_PRICE_MEMBERS = {
  characters: { ...usd('Text'), description: 'USD per million characters, at most 6 decimals.' },
  seconds: {
    ...usd('Sound'),
    description: 'USD per million seconds of sound, at most 6 decimals: 0.006 per minute is 100.',
  },
  searches: fee('USD per search unit: a query with up to 100 short documents.'),
  edits: fee(
    'USD per picture that is sent to be edited, in addition to those that are drawn. Without it, edits are not sold.',
  ),
  images: {
    description: 'USD per picture: one price for all, or one for each size and quality that may be asked for.',
    anyOf: [
      { type: 'number', minimum: 0, maximum: MAX_PRICE },
      {
        type: 'array',
        minItems: 1,
        maxItems: MAX_NAMES,
        items: {
          type: 'object',
          properties: {
            size: sizeName('The value of `size`.', ['1024x1024']),
            quality: sizeName('The value of `quality`.', ['hd']),
            usd: { type: 'number', minimum: 0, maximum: MAX_PRICE, description: 'USD per picture.' },
          },
          required: ['usd'],
          additionalProperties: false,
        },
      },
    ],
  },
} as const satisfies Readonly<Record<string, Schema>>

const UPSTREAM: Schema = {
  type: 'object',
  description: 'The server that calls are sent to.',
  properties: UPSTREAM_MEMBERS,
  required: ['kind'],
  additionalProperties: false,
  not: { required: ['key_env', 'vendor'] },
  if: { properties: { kind: { enum: ['anthropic', 'gemini'] } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
  then: { properties: { responses: { const: false } } },
}

const RULE: Schema = { type: 'object', properties: PRICE_MEMBERS, additionalProperties: false }
const PRICE: Schema = {
  anyOf: [
    { type: 'object', properties: { ...PRICE_MEMBERS, ...UNIT_PRICE_MEMBERS }, additionalProperties: false },
    { type: 'array', minItems: 1, maxItems: MAX_RULES, items: { $ref: '#/$defs/rule' } },
  ],
}

export const ACCESS_MEMBERS = {
  tiers: { type: 'array', items: { enum: TIERS }, description: 'Accounts of these tiers.' },
  accounts: {
    type: 'array',
    items: { type: 'string', pattern: ACCOUNT_ID.source },
    maxItems: MAX_ACCOUNTS,
    description: 'These accounts.',
  },
} as const satisfies Readonly<Record<string, Schema>>

export const ANSWER_CACHE_MEMBERS = {
  seconds: count('How long an answer is kept.', { maximum: MAX_CACHE_SECONDS }),
  percent: {
    type: 'integer',
    minimum: 0,
    maximum: 100,
    description: 'What a kept answer costs, in percent of its charge. 0 is free.',
  },
} as const satisfies Readonly<Record<string, Schema>>

export const ENTRY_MEMBERS = {
  id: {
    type: 'string',
    maxLength: MAX_ID_CHARACTERS,
    pattern: MODEL_ID.source,
    description: 'The name that callers use.',
    examples: ['gpt-4o', 'meta/llama-3'],
  },
  upstream: UPSTREAM,
  upstreams: {
    type: 'array',
    items: UPSTREAM,
    minItems: 1,
    maxItems: MAX_UPSTREAMS,
    description: 'Several upstreams, instead of `upstream`.',
  },
  order: {
    enum: UPSTREAM_ORDERS,
    default: 'listed',
    description:
      'The order in which the upstreams are tried: as listed, at random by their weights, or by their recent time to the first byte.',
  },
  fallback: {
    type: 'array',
    items: { type: 'string', pattern: MODEL_ID.source, maxLength: MAX_ID_CHARACTERS },
    maxItems: MAX_FALLBACKS,
    default: [],
    description:
      'Ids of models that serve a call, in this order, if no upstream of this one does. The call costs what the model costs that served it.',
  },
  access: {
    type: 'object',
    properties: ACCESS_MEMBERS,
    additionalProperties: false,
    description:
      'The accounts that may call it: those of a tier, and those that are named. For all others it does not exist. Without this, everyone may.',
  },
  answer_cache: {
    type: 'object',
    properties: ANSWER_CACHE_MEMBERS,
    required: ['seconds', 'percent'],
    additionalProperties: false,
    description:
      'Keeps answers for a repeat of exactly the same call by the same account. Streams are not kept. Without this, every call reaches the model.',
  },
  price: {
    description:
      'Required. For a free model, set it to 0. A list has rules, of which the first that a call meets is its price.',
    $ref: '#/$defs/price',
  },
  purchase_price: {
    description:
      'What the vendor charges you, of the same form as `price`, for reports on margin. Callers never see it.',
    $ref: '#/$defs/price',
  },
  purpose: {
    enum: MODEL_PURPOSES,
    default: 'text',
    description:
      'What the model is for: it writes text, turns text into vectors, judges texts, draws pictures, speaks, writes down speech or ranks documents. Anthropic has text only; the last five need upstreams of the kind openai.',
  },
  owned_by: text('The maker of the model. Defaults to the kind of its first upstream.'),
  created: count('UNIX time in seconds.'),
  recharge_required: {
    type: 'boolean',
    default: true,
    description: 'Whether only accounts that have topped up may call it. If false, signup credit pays for it too.',
  },
  context_tokens: count('Maximum number of tokens of input and output together.'),
  max_output_tokens: count('Maximum number of output tokens.'),
  default_output_tokens: count('The output limit of calls that set none.'),
  max_seconds: count(
    'The longest sound of one call. It is held for files that do not tell their length; without it, only WAV and MP3 files are accepted.',
  ),
  image_tokens: count('Maximum number of tokens of one image.', { default: 16_384 }),
  extra_members: names(
    'Body properties that are forwarded to the vendor although the token prices do not cover them.',
    MEMBER_PATH,
    ['prediction', 'tools.web_search_20250305'],
  ),
  betas: names('Allowed values of anthropic-beta, in addition to those known not to change billing.', BETA_NAME, [
    'context-1m-2025-08-07',
  ]),
  family: text('Models of one family share `family_rpm`.'),
  family_rpm: count("Requests per minute and key for the whole family: the upstream's quota."),
  stops_billing: {
    type: 'boolean',
    default: false,
    description:
      'Whether the vendor bills an aborted stream only up to where it ended. If so, a stream is aborted when its caller disconnects, unless the call uses reasoning or a vendor tool. Do not set this for models that reason by default.',
  },
  tokens_per_second: count(
    'Output speed, to estimate the cost of a stream that ended without a usage report. The estimate never exceeds the hold.',
    {
      default: 100,
    },
  ),
} as const satisfies Readonly<Record<string, Schema>>

/** Matches an upstream whose kind is Anthropic. */
const isAnthropic: Schema = { type: 'object', properties: { kind: { const: 'anthropic' } }, required: ['kind'] }

/** Matches an entry with no upstream but Anthropic's, which makes no vectors. */
const isOnlyAnthropic: Schema = {
  anyOf: [
    { properties: { upstreams: { type: 'array', items: isAnthropic } }, required: ['upstreams'] },
    { properties: { upstream: isAnthropic }, required: ['upstream'], not: { required: ['upstreams'] } },
  ],
}

const forPurpose = (purposes: readonly string[]): Schema => ({
  properties: { purpose: { enum: purposes } },
  required: ['purpose'],
})
const whenFor = (purposes: readonly string[], properties: Schema): Schema => ({
  if: forPurpose(purposes),
  // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
  then: { properties },
})
const onlyMembers = (...required: readonly string[]): Schema => ({
  type: 'object',
  required,
  maxProperties: required.length,
})
const isOpenAi: Schema = { type: 'object', properties: { kind: { const: 'openai' } } }
const ONLY_OPENAI = { upstream: isOpenAi, upstreams: { type: 'array', items: isOpenAi } }
const rule = (more: Schema): Schema => ({ type: 'object', ...more })
/** For a price that is one rule, and for each rule of a list. */
const eachRule = (more: Schema): Schema => ({ anyOf: [rule(more), { type: 'array', items: rule(more) }] })
const ONE_RULE = {
  required: ['input', 'output'],
  properties: { characters: false, seconds: false, searches: false, images: false, edits: false },
}
const CONDITION: Schema = { anyOf: [rule({ required: ['above'] }), rule({ required: ['tier'] })] }
const TOKEN_PRICE: Schema = {
  anyOf: [
    rule({ ...ONE_RULE, not: CONDITION }),
    { type: 'array', items: rule(ONE_RULE), contains: { not: CONDITION }, maxContains: 1 },
  ],
}

/** The price to callers and the operator's own have the same form. */
const bothPrices = (rule: Schema) => ({ price: rule, purchase_price: rule })

/** Published as `docs/models.schema.json`; a test compares the two. */
export const MODEL_FILE_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Models that the gateway sells (MODELS_FILE)',
  type: 'object',
  properties: {
    $schema: { type: 'string', description: 'The location of this schema, for the editor.' },
    models: { type: 'array', items: { $ref: '#/$defs/model' }, description: 'The models.' },
  },
  required: ['models'],
  $defs: {
    price: PRICE,
    rule: RULE,
    model: {
      type: 'object',
      description: 'One model.',
      properties: ENTRY_MEMBERS,
      required: ['id', 'price'],
      additionalProperties: false,
      anyOf: [{ required: ['upstream'] }, { required: ['upstreams'] }],
      dependentRequired: { family: ['family_rpm'], family_rpm: ['family'] },
      not: { allOf: [{ properties: { purpose: { const: 'embeddings' } }, required: ['purpose'] }, isOnlyAnthropic] },
      if: {
        anyOf: [
          { properties: { upstreams: { type: 'array', contains: isAnthropic } }, required: ['upstreams'] },
          { properties: { upstream: isAnthropic }, required: ['upstream'], not: { required: ['upstreams'] } },
        ],
      },
      // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
      then: { properties: bothPrices(eachRule({ required: ['cache_write'] })) },
      allOf: [
        whenFor(['moderation', 'speech'], { ...bothPrices(onlyMembers('characters')), ...ONLY_OPENAI }),
        whenFor(['transcription'], { ...bothPrices(onlyMembers('seconds')), ...ONLY_OPENAI }),
        whenFor(['rerank'], { ...bothPrices({ anyOf: [onlyMembers('searches'), TOKEN_PRICE] }), ...ONLY_OPENAI }),
        whenFor(['images'], {
          ...bothPrices({ anyOf: [onlyMembers('images'), onlyMembers('images', 'edits')] }),
          ...ONLY_OPENAI,
        }),
        {
          if: forPurpose(['moderation', 'speech', 'transcription', 'rerank', 'images']),
          else: { properties: bothPrices(TOKEN_PRICE) },
        },
      ],
    },
  },
}
