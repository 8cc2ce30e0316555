import { ROUTE_RPM } from '../../core/limits/tier'
import { KEY_FAILURES } from '../keys/key-failures'
import { BODY_FAILURES } from '../openapi/body-failures'
import { type EndpointDocs, requestBody } from '../openapi/documented'
import { CALL_FAILURES, call } from './call-docs'
import { CallEstimate, ModelList, ModelRecord, NewCallEstimate } from './record'
import { AnthropicModel, AnthropicModelList, GoogleModel, GoogleModelList } from './vendor-record'

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

const EDITS = call(
  'editImages',
  'Edit pictures',
  "Draws pictures after others. Works with OpenAI's SDK. Charged like `POST /v1/images/generations`, and the model's price of an edit for each picture and mask that is sent.",
  {
    example: { model: 'sandbox/draw', image: 'picture.png', prompt: 'An otter', size: '256x256' },
    required: ['model', 'image', 'prompt'],
    contentType: 'multipart/form-data',
  },
  { created: 1_767_225_600, data: [{ b64_json: 'iVBORw0KGgo=' }] },
)

const SPOKEN = call(
  'speech',
  'Speech',
  "Speaks a text. Works with OpenAI's SDK. Charged per character of `input` and `instructions`. The sound is sent in one piece.",
  { example: { model: 'sandbox/speak', input: 'Hello', voice: 'alloy' }, required: ['model', 'input', 'voice'] },
  {},
)

const TRANSCRIPTIONS = call(
  'transcriptions',
  'Transcription',
  "Writes down speech. Works with OpenAI's SDK. Charged per second of sound that the answer states, else that the file has; at most the file's length is held, or the `max_seconds` of the model for files other than WAV and MP3. Streams, and answers as text or subtitles, are rejected with 422.",
  {
    example: { model: 'sandbox/transcribe', file: 'sound.wav' },
    required: ['model', 'file'],
    contentType: 'multipart/form-data',
  },
  { text: 'A recording of 3 seconds.', usage: { type: 'duration', seconds: 3 } },
)

const RERANK = call(
  'rerank',
  'Rerank',
  "Sorts documents by what they have to do with a query, in the form of Cohere and of Jina. Charged per search unit or per token, as the model's price says.",
  {
    example: { model: 'sandbox/rerank', query: 'otters', documents: ['Otters hold hands.', 'Cats do not.'] },
    required: ['model', 'query', 'documents'],
  },
  { id: 'x', results: [{ index: 0, relevance_score: 1 }], meta: { billed_units: { search_units: 1 } } },
)

/** The model calls that are charged per character, picture, second or search. */
const MEDIA_DOCS = {
  moderations: MODERATION,
  images: IMAGES,
  edits: EDITS,
  transcriptions: TRANSCRIPTIONS,
  rerank: RERANK,
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

const HELLO = [{ role: 'user', content: 'Hello' }]

const RESEARCH_EXAMPLE = {
  id: 'research-req_01a1fdfa942070008c603d2632ddc21a',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: 'sandbox/extract',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Relations describe how tables are connected. [1]' },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 900, completion_tokens: 60, total_tokens: 960 },
  citations: [{ number: 1, title: 'Drizzle relations', url: 'https://orm.drizzle.team/docs/relations' }],
  search_queries: ['What are drizzle relations'],
}

const GOOGLE_METHODS = 'generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents'

const MODEL_ID = {
  // Such a path is for POST; GET of it is a 405.
  model: { description: 'The id of a model.', example: 'sandbox%2Fecho', pattern: `^(?!.*:(${GOOGLE_METHODS})$)` },
}

export const MODEL_DOCS = {
  list: {
    id: 'models',
    tag: 'Models',
    summary: 'All models',
    description:
      "The available models, their routes and their prices, in OpenAI's format; with `anthropic-version` in Anthropic's, which also takes `limit`, `after_id` and `before_id`; with `x-goog-api-client` in Google's, as below `/v1beta`. Free.",
    answers: {
      200: {
        description: 'The models.',
        schema: { anyOf: [ModelList, AnthropicModelList] },
      },
    },
    failures: [...KEY_FAILURES, 'invalid_parameter'],
  },
  googleList: {
    id: 'googleModels',
    tag: 'Models',
    summary: "Models in Google's format",
    description: "The models that Google's SDK can call. Errors use Google's format. Free.",
    answers: { 200: { description: 'A page.', schema: GoogleModelList } },
    failures: [...KEY_FAILURES, 'invalid_parameter'],
    errorFormat: 'google',
  },
  googleOne: {
    id: 'googleModel',
    tag: 'Models',
    summary: "One model in Google's format",
    description:
      "An id that contains a slash can be sent with `%2F` or with a plain slash; one that ends with a call, such as `:generateContent`, is for POST. Errors use Google's format. Free.",
    ids: MODEL_ID,
    answers: { 200: { description: 'The model.', schema: GoogleModel } },
    failures: [...KEY_FAILURES, 'unknown_model', 'method_not_allowed'],
    errorFormat: 'google',
  },
  one: {
    id: 'model',
    tag: 'Models',
    summary: 'One model',
    description:
      "An id that contains a slash can be sent with `%2F` or with a plain slash; one that ends with a call, such as `:generateContent`, is for POST. With `anthropic-version` the response has Anthropic's format, with `x-goog-api-client` Google's. Free.",
    ids: MODEL_ID,
    answers: {
      200: {
        description: 'The model.',
        schema: { anyOf: [ModelRecord, AnthropicModel] },
      },
    },
    failures: [...KEY_FAILURES, 'unknown_model', 'method_not_allowed'],
    // Only an id that ends with a call leads to it, and such a path belongs to Google's SDK.
    errorFormats: { 405: 'google' },
  },
  offered: {
    id: 'offeredModels',
    tag: 'Activity',
    summary: 'The models of this gateway',
    description: 'The same list as `GET /v1/models`, for the signed-in owner.',
    answers: { 200: { description: 'The models.', schema: ModelList } },
    failures: [],
  },
  estimate: {
    id: 'estimateModelCall',
    tag: 'Activity',
    summary: 'Estimate the maximum cost of a model call',
    description:
      'Validates a body as the route of `endpoint_type` would, and returns the maximum cost of the call. Free: it calls no model, counts against no rate limit and records nothing.',
    body: requestBody('The route, the model and the body that you would send.', NewCallEstimate, {
      chat: {
        endpoint_type: 'chat_completions',
        model: 'sandbox/echo',
        body: { model: 'sandbox/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
      },
    }),
    answers: { 200: { description: 'The estimate.', schema: CallEstimate } },
    failures: [
      ...BODY_FAILURES,
      'missing_parameter',
      'unknown_model',
      'model_route_not_supported',
      'unsupported_parameter',
    ],
  },
  chat: call(
    'chatCompletions',
    'Chat completions',
    "Works with OpenAI's SDK: set its base URL to `<origin>/v1` and its API key to your gateway key.",
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
  responses: call(
    'responses',
    'Responses',
    "OpenAI's Responses API: the default of OpenAI's newer SDKs and agents, and of the AI SDK's OpenAI provider. Streams send its typed events. Nothing is stored: `store` is answered false, and a call sends the whole conversation as items of `input`; for 30 minutes an `item_reference` can stand for an item of an earlier answer. `previous_response_id`, `conversation`, `background`, `prompt` and the vendor's own tools are rejected with 422. An upstream that supports chat completions only serves these calls by translation; then tools that OpenAI describes (`local_shell`, `apply_patch`), files and log probabilities are rejected, too.",
    { example: { model: 'sandbox/echo', input: 'Hello' }, required: ['model', 'input'] },
    {
      id: 'resp_1',
      object: 'response',
      created_at: 1_767_225_600,
      model: 'sandbox/echo',
      status: 'completed',
      error: null,
      incomplete_details: null,
      output: [
        {
          id: 'msg_1',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'Hello' }],
        },
      ],
      previous_response_id: null,
      store: false,
      usage: {
        input_tokens: 1,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 1,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 2,
      },
    },
  ),
  completions: call(
    'completions',
    'Completions',
    "OpenAI's older completions of one prompt (a text, or a list of one). The prompt is sent as the only message of a chat. Without `max_tokens` the answer has at most 16 tokens. `suffix`, `logprobs`, `echo: true`, and `n` or `best_of` above 1 are rejected with 422.",
    { example: { model: 'sandbox/echo', prompt: 'Hello' }, required: ['model', 'prompt'] },
    {
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_767_225_600,
      model: 'sandbox/echo',
      choices: [{ text: 'Hello', index: 0, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  ),
  messages: {
    ...call(
      'messages',
      'Messages',
      "Works with Anthropic's SDK: set its base URL to `<origin>` and its API key to your gateway key; `x-api-key` works as well as `Authorization: Bearer`. Errors use Anthropic's format.",
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
    errorFormat: 'anthropic',
  },
  generate: {
    ...call(
      'generateContent',
      'Generate content',
      `Works with Google's SDK: set its base URL to \`<origin>\` and its API key to your gateway key; \`x-goog-api-key\` works as well as \`Authorization: Bearer\`. \`:streamGenerateContent\` streams; add \`?alt=sse\` for server-sent events. \`:countTokens\` counts the tokens of \`contents\`, free. \`:embedContent\` and \`:batchEmbedContents\` turn texts into vectors. Errors use Google's format. The first two methods share a limit of ${ROUTE_RPM.generateContent} requests per minute per key.`,
      { example: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }, required: [] },
      {
        candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
        modelVersion: 'sandbox/echo',
      },
    ),
    errorFormat: 'google',
    ids: {
      model: {
        description:
          'The id of a model, a colon, and `generateContent`, `streamGenerateContent`, `countTokens`, `embedContent` or `batchEmbedContents`.',
        example: 'sandbox%2Fecho:generateContent',
        pattern: `:(${GOOGLE_METHODS})$`,
      },
    },
  },
  count: {
    ...call(
      'countTokens',
      'Count tokens of messages',
      "Counts the tokens of a body of `POST /v1/messages`, for Anthropic's SDK. The vendor counts; nothing is charged.",
      { example: { model: 'sandbox/echo', messages: HELLO }, required: ['model', 'messages'] },
      { input_tokens: 1 },
    ),
    description:
      "Counts the tokens of a body of `POST /v1/messages`, for Anthropic's SDK. The vendor counts. Free, but it counts as a request in the window of the key. Errors use Anthropic's format.",
    errorFormat: 'anthropic',
  },
  embeddings: call(
    'embeddings',
    'Embeddings',
    "Turns text into vectors. Works with OpenAI's SDK: set its base URL to `<origin>/v1` and its API key to your gateway key. `input` is one text or up to 2048; `dimensions` and `encoding_format` (`float`, `base64`) go to the model. Charged for its input tokens. Google's `:embedContent` and `:batchEmbedContents` do the same on the models of Google.",
    { example: { model: 'sandbox/embed', input: ['Hello'] }, required: ['model', 'input'] },
    {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
      model: 'sandbox/embed',
      usage: { prompt_tokens: 1, total_tokens: 1 },
    },
  ),
  ...MEDIA_DOCS,
  research: {
    ...call(
      'deepResearch',
      'Deep research',
      `Answers a question in several steps, using the gateway's own LLM-context search: it plans, searches, reads, checks, searches again, and answers with numbered sources (\`citations\`). Works with any model that supports \`chat_completions\`. Send \`query\`, or \`messages\` (the last user message is the question). \`max_searches\` is 1 to 10 (default 4); \`max_tokens\` limits the answer to 1 to 16384 tokens (default 1024). A run takes at most five minutes. With \`stream: true\`, progress is sent under \`research\` as it happens. Each model call and search is charged separately and appears as its own line in \`GET /v1/usage/{id}\`; failed searches are free. A lower \`X-Max-Price-USD\` means fewer searches. Limit: ${ROUTE_RPM.deepResearch} requests per minute per key.`,
      { example: { model: 'sandbox/extract', query: 'What are drizzle relations?' }, required: ['model'] },
      RESEARCH_EXAMPLE,
    ),
    failures: [...CALL_FAILURES.filter((code) => code !== 'unsupported_parameter')],
  },
} as const satisfies Record<string, EndpointDocs>
