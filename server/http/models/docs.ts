import type { FailureCode } from '../../core/failure'
import { KEY_FAILURES } from '../keys/key-failures'
import type { EndpointDocs, RouteDocs } from '../openapi/documented'
import { BODY_FAILURES, OWNER_FAILURES, WRITE_FAILURES } from '../openapi/owner-failures'
import { CallEstimate, ModelList, ModelRecord, NewCallEstimate } from './record'

const CALL_FAILURES: readonly FailureCode[] = [
  'missing_parameter',
  'invalid_parameter',
  'json_parse_error',
  'invalid_request',
  'model_route_not_supported',
  ...KEY_FAILURES,
  'recharge_required',
  'insufficient_api_key_balance',
  'insufficient_balance',
  'quota_exceeded',
  'insufficient_permissions',
  'model_not_allowed',
  'unknown_model',
  'estimated_price_exceeds_max_price',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'idempotency_conflict',
  'answer_not_kept',
  'outcome_unknown',
  'max_tokens_exceeded',
  'unsupported_parameter',
  'upstream_rate_limit',
  'upstream_error',
  'upstream_unavailable',
  'upstream_timeout',
]

const MODEL_EXAMPLE: ModelRecord = {
  id: 'sandbox/echo',
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'sandbox',
  recharge_required: false,
  supported_endpoint_types: ['chat_completions', 'messages', 'generate_content'],
  pricing: { input: 0, output: 0, cache_read: 0, cache_write: 0 },
  price_version: 'sandbox',
  context_tokens: 524_288,
  max_output_tokens: null,
}

const PRICE_WORDS = [
  "Charged by the token, at the model's prices, rounded up once; the most that the call can cost is held before it runs and the rest given back. `X-Cost-Mode: quote` tells that most.",
  'Tokens (input plus the output cap) are reserved from the minute and corrected at the end; a call takes a concurrency place until its last byte.',
  "A stream is charged before its end is sent. Hang up and it is charged for what went through. What the vendor refuses comes through in the vendor's own format, uncharged.",
  'Under an `Idempotency-Key` the same body gets the first answer again, a stream as its events; every call goes on when its caller hangs up, and is charged to its end.',
]

const COST = ['X-Cost-Micros-USD', 'Idempotency-Replayed'] as const

function call(
  id: string,
  summary: string,
  words: string,
  body: { example: unknown; required: string[] },
  answer: unknown,
): EndpointDocs {
  return {
    id,
    tag: 'Models',
    summary,
    description: [words, ...PRICE_WORDS].join('\n\n'),
    body: {
      description:
        "The vendor's own body. It goes on byte for byte, but for what metering needs; a member that the price of a token does not cover is 422.",
      schema: { type: 'object', required: body.required, additionalProperties: true },
      required: true,
      examples: { simple: body.example },
    },
    answers: {
      200: {
        description: "The model's answer, in the vendor's format; server-sent events where a stream was asked for.",
        schema: { type: 'object', additionalProperties: true },
        examples: { answer },
        headers: [...COST, 'X-Gateway-Removed-Betas'],
      },
    },
    failures: CALL_FAILURES,
    passesUpstreamErrors: true,
  }
}

const HELLO = [{ role: 'user', content: 'Hello' }]

const RESEARCH_EXAMPLE = {
  id: 'research-req_01a1fdfa942070008c603d2632ddc21a',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: 'sandbox/extract',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Relations tell how tables belong together. [1]' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 900, completion_tokens: 60, total_tokens: 960 },
  citations: [{ number: 1, title: 'Drizzle relations', url: 'https://orm.drizzle.team/docs/relations' }],
  search_queries: ['What are drizzle relations'],
}

export const MODEL_DOCS = {
  list: {
    id: 'models',
    tag: 'Models',
    summary: 'All models',
    description: 'What can be called here, on which routes, at which prices. Free.',
    answers: {
      200: {
        description: 'The models.',
        schema: ModelList,
        examples: { list: { object: 'list', data: [MODEL_EXAMPLE] } },
      },
    },
    failures: KEY_FAILURES,
  },
  one: {
    id: 'model',
    tag: 'Models',
    summary: 'One model',
    description: 'An id with a slash is written with `%2F` or with the slash itself. Free.',
    ids: { model: { description: 'The id of a model.', example: 'sandbox%2Fecho' } },
    answers: { 200: { description: 'The model.', schema: ModelRecord, examples: { model: MODEL_EXAMPLE } } },
    failures: [...KEY_FAILURES, 'unknown_model'],
  },
  offered: {
    id: 'offeredModels',
    tag: 'Activity',
    summary: 'The models of this gateway',
    description: 'What `GET /v1/models` lists, for the owner who is signed in.',
    access: 'session',
    answers: {
      200: {
        description: 'The models.',
        schema: ModelList,
        examples: { list: { object: 'list', data: [MODEL_EXAMPLE] } },
      },
    },
    failures: OWNER_FAILURES,
  },
  estimate: {
    id: 'estimateModelCall',
    tag: 'Activity',
    summary: 'What a call of a model costs at most',
    description:
      "Judges a body as the route of `endpoint_type` would, and tells the most that the call can cost. Free: no model is asked, no key's minute is touched, nothing is written down.",
    access: 'session',
    body: {
      description: 'The route, the model, and the body as it would be sent there.',
      schema: NewCallEstimate,
      required: true,
      examples: {
        chat: {
          endpoint_type: 'chat_completions',
          model: 'sandbox/echo',
          body: { model: 'sandbox/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
        },
      },
    },
    answers: {
      200: {
        description: 'The most.',
        schema: CallEstimate,
        examples: {
          free: {
            model: 'sandbox/echo',
            price_version: 'sandbox',
            most_micros_usd: 0,
            likely_input_tokens: 21,
            most_input_tokens: 148,
            most_output_tokens: 100,
          },
        },
      },
    },
    failures: [
      ...BODY_FAILURES,
      'missing_parameter',
      'unknown_model',
      'model_route_not_supported',
      'unsupported_parameter',
      ...WRITE_FAILURES,
    ],
  },
  chat: call(
    'chatCompletions',
    'Chat completions',
    "As OpenAI's SDK calls it: set its base URL to `<origin>/v1` and its key to yours.",
    { example: { model: 'sandbox/echo', messages: HELLO }, required: ['model', 'messages'] },
    {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_767_225_600,
      model: 'sandbox/echo',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  ),
  messages: call(
    'messages',
    'Messages',
    "As Anthropic's SDK calls it: set its base URL to `<origin>` and its key to yours; `x-api-key` is taken as well as `Authorization: Bearer`. Errors have Anthropic's shape.",
    {
      example: { model: 'sandbox/echo', max_tokens: 100, messages: HELLO },
      required: ['model', 'max_tokens', 'messages'],
    },
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'sandbox/echo',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  ),
  generate: {
    ...call(
      'generateContent',
      'Generate content',
      "As Google's SDK calls it: set its base URL to `<origin>` and its key to yours; `x-goog-api-key` is taken as well as `Authorization: Bearer`. `:streamGenerateContent` streams, with `?alt=sse` as events. Errors have Google's shape. Both forms together: 30 requests per minute and key.",
      { example: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }, required: ['contents'] },
      {
        candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
        modelVersion: 'sandbox/echo',
      },
    ),
    ids: {
      model: {
        description: 'The id of a model, a colon, and `generateContent` or `streamGenerateContent`.',
        example: 'sandbox%2Fecho:generateContent',
      },
    },
  },
  research: {
    ...call(
      'deepResearch',
      'Deep research',
      "A job of several steps over the gateway's own LLM-context search: it plans, searches, reads, checks, searches again, and answers with numbered sources (`citations`). Any model with `chat_completions` can do it. `query`, or `messages` whose last question counts; `max_searches` 1 to 10 (4), `max_tokens` 1 to 16384 (1024) of the answer; at most five minutes. With `stream: true` the steps come as they are made, under `research`. Charged for its parts, one line each in `GET /v1/usage/{id}`; a search that fails costs nothing; `X-Max-Price-USD` makes it search less. 5 requests per minute and key.",
      { example: { model: 'sandbox/extract', query: 'What are drizzle relations?' }, required: ['model'] },
      RESEARCH_EXAMPLE,
    ),
    failures: [...CALL_FAILURES.filter((code) => code !== 'unsupported_parameter')],
  },
} as const satisfies Record<string, EndpointDocs | RouteDocs>
