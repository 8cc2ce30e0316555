import type { ModelOperationName } from '../../core/catalog/operation'
import { failure } from '../../core/failure'
import { ROUTE_RPM } from '../../core/limits/tier'
import type { Model, ModelRoute } from '../../core/models/model'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { buyerOf } from '../../pipeline/call'
import { WIRES } from '../../pipeline/models/wires/wires'
import { CALL_OPTIONS } from '../middleware/input/call-options'
import { queryOf } from '../middleware/input/list-query'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented, type EndpointDocs, type Hook, UNDOCUMENTED } from '../openapi/documented'
import { freeEndpoint, modelEndpoint, served, sold } from '../routing/endpoint'
import { COUNT_TOKENS_PATH, EMBED_PATH, GENERATE_PATH, googleCall, modelPath } from '../routing/sdk-paths'
import { MODEL_DOCS } from './docs'
import type { ModelCalls, ModelTarget } from './model-calls'
import { wireModel } from './record'
import type { ResearchCalls } from './research-calls'
import { ANTHROPIC_PAGE, anthropicList, anthropicModel, GOOGLE_PAGE, googleList, googleModel } from './vendor-record'

const MODELS = freeEndpoint('models', 'any')
const MODEL = freeEndpoint('model', 'any', { pattern: modelPath('v1') })
const GOOGLE_MODELS = freeEndpoint('models', 'any')
const GOOGLE_MODEL = freeEndpoint('model', 'any', { pattern: modelPath('v1beta') })
const GOOGLE_COUNT = modelEndpoint('count-tokens', { pattern: COUNT_TOKENS_PATH })
const GOOGLE_EMBED = modelEndpoint('embeddings', { pattern: EMBED_PATH })
const GENERATE = modelEndpoint('generate-content', {
  rpm: ROUTE_RPM.generateContent,
  pattern: GENERATE_PATH,
  beside: [GOOGLE_COUNT, GOOGLE_EMBED],
})
const RESEARCH = modelEndpoint('deep-research', { rpm: ROUTE_RPM.deepResearch, alsoScope: 'data:read' })

const PLAIN = { model: null, stream: false, events: false }

/** The methods of Google's paths. */
const GOOGLE_METHODS: Readonly<Record<string, Omit<ModelTarget, 'path'>>> = {
  generateContent: { operation: 'generate-content', wire: WIRES.generate_content },
  streamGenerateContent: { operation: 'generate-content', wire: WIRES.generate_content },
  countTokens: { operation: 'count-tokens', wire: WIRES.count_tokens },
  embedContent: { operation: 'embeddings', wire: WIRES.embed_content },
  batchEmbedContents: { operation: 'embeddings', wire: WIRES.batch_embed_contents },
}

/**
 * Whose package asks for models below `/v1`: the packages of three vendors call the same paths, Google's by default. Anthropic's and
 * Google's name themselves with every call.
 */
function packageOf({ request: { headers } }: GatedContext): 'anthropic' | 'google' | 'openai' {
  if (headers.has('anthropic-version')) return 'anthropic'
  return headers.has('x-goog-api-client') ? 'google' : 'openai'
}

function listed(models: readonly Model[], context: GatedContext): object {
  switch (packageOf(context)) {
    case 'anthropic':
      return anthropicList(models, queryOf(ANTHROPIC_PAGE, context))
    case 'google':
      return googleList(models, queryOf(GOOGLE_PAGE, context))
    case 'openai':
      return { object: 'list', data: models.map(wireModel) }
  }
}

/** Lists the models and serves calls to them in the formats of three SDKs (spec 2.2, 4.6). */
export function modelRoutes(catalog: ModelCatalog, calls: ModelCalls, research: ResearchCalls) {
  const one = ({ reply, url, authenticated }: GatedContext, written: (model: Model) => object) => {
    const id = decoded(url.pathname.replace(/^.*?\/models\//, ''))
    const model = catalog.forBuyer(id, buyerOf(authenticated))
    if (model) return reply.free(written(model))
    return reply.refuse(
      failure('unknown_model', 'This model does not exist. GET /v1/models lists the available models.', {
        param: 'model',
      }),
    )
  }
  const shown = (context: GatedContext) =>
    one(context, { anthropic: anthropicModel, google: googleModel, openai: wireModel }[packageOf(context)])
  const researched = (context: GatedContext) => {
    context.allowSilence()
    return research.answer(context)
  }
  const atGoogle = (documentation: Hook) =>
    sold(GENERATE, documentation, (context) => calls.answer(context, googleTarget(context.url)))
  const call = (operation: ModelOperationName, route: ModelRoute, docs: EndpointDocs) =>
    callRoute(calls, { operation, wire: WIRES[route], path: PLAIN }, docs)
  return (
    routeGroup({ name: 'models' })
      .post('/v1beta/models/:model', ...atGoogle(documented(MODEL_DOCS.generate, CALL_OPTIONS, REQUEST_ID_HEADER)))
      .post('/v1beta/models/*', ...atGoogle(UNDOCUMENTED))
      .post('/v1/models/*', ...atGoogle(UNDOCUMENTED))
      .get(
        '/v1/models',
        ...served(MODELS, documented(MODEL_DOCS.list), ({ context }) =>
          context.reply.free(listed(catalog.listFor(buyerOf(context.authenticated)), context)),
        ),
      )
      .get('/v1/models/:model', ...served(MODEL, documented(MODEL_DOCS.one), ({ context }) => shown(context)))
      // A model id can contain slashes.
      .get('/v1/models/*', ...served(MODEL, UNDOCUMENTED, ({ context }) => shown(context)))
      .get(
        '/v1beta/models',
        ...served(GOOGLE_MODELS, documented(MODEL_DOCS.googleList, GOOGLE_PAGE), ({ context }) =>
          context.reply.free(
            googleList(catalog.listFor(buyerOf(context.authenticated)), queryOf(GOOGLE_PAGE, context)),
          ),
        ),
      )
      .get(
        '/v1beta/models/:model',
        ...served(GOOGLE_MODEL, documented(MODEL_DOCS.googleOne), ({ context }) => one(context, googleModel)),
      )
      .get('/v1beta/models/*', ...served(GOOGLE_MODEL, UNDOCUMENTED, ({ context }) => one(context, googleModel)))
      .post('/v1/chat/completions', ...call('chat-completions', 'chat_completions', MODEL_DOCS.chat))
      .post('/v1/responses', ...call('responses', 'responses', MODEL_DOCS.responses))
      .post('/v1/completions', ...call('completions', 'completions', MODEL_DOCS.completions))
      .post('/v1/messages', ...call('messages', 'messages', MODEL_DOCS.messages))
      .post('/v1/messages/count_tokens', ...call('count-tokens', 'messages_count_tokens', MODEL_DOCS.count))
      .post('/v1/embeddings', ...call('embeddings', 'embeddings', MODEL_DOCS.embeddings))
      .post('/v1/moderations', ...call('moderations', 'moderations', MODEL_DOCS.moderations))
      .post('/v1/images/generations', ...call('image-generation', 'image_generations', MODEL_DOCS.images))
      .post('/v1/images/edits', ...call('image-edit', 'image_edits', MODEL_DOCS.edits))
      .post('/v1/audio/speech', ...call('speech', 'speech', MODEL_DOCS.speech))
      .post('/v1/audio/transcriptions', ...call('transcription', 'transcriptions', MODEL_DOCS.transcriptions))
      .post('/v1/rerank', ...call('rerank', 'rerank', MODEL_DOCS.rerank))
      .post(
        '/v1/deep-research',
        ...sold(RESEARCH, documented(MODEL_DOCS.research, CALL_OPTIONS, REQUEST_ID_HEADER), researched),
      )
  )
}

function callRoute(calls: ModelCalls, target: ModelTarget, docs: EndpointDocs) {
  const hook = documented(docs, CALL_OPTIONS, REQUEST_ID_HEADER)
  return sold(modelEndpoint(target.operation), hook, (context) => calls.answer(context, target))
}

function googleTarget({ pathname, searchParams }: URL): ModelTarget {
  const { model, method } = googleCall(pathname) ?? { model: '', method: '' }
  const target = GOOGLE_METHODS[method]
  if (!target) throw new Error(`no method of Google's is at ${pathname}`)
  const stream = method === 'streamGenerateContent'
  const path = { model: decoded(model), stream, events: stream && searchParams.get('alt') === 'sse' }
  return { ...target, path }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
