import { failure } from '../../core/failure'
import type { ModelCatalogue } from '../../core/models/catalogue'
import type { KnownCaller } from '../../pipeline/call'
import { CHAT_COMPLETIONS } from '../../pipeline/models/wires/chat-completions-wire'
import { GENERATE_CONTENT } from '../../pipeline/models/wires/generate-content-wire'
import { MESSAGES } from '../../pipeline/models/wires/messages-wire'
import { CALL_OPTIONS } from '../middleware/call-options'
import { askedBy } from '../middleware/priced'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import type { EndpointDocs } from '../openapi/documented'
import { freeEndpoint, modelEndpoint, served } from '../routing/endpoint'
import { GENERATE_PATH } from '../routing/google-path'
import { MODEL_DOCS } from './docs'
import type { ModelCalls } from './model-calls'
import { wireModel } from './record'
import type { ResearchCalls } from './research-calls'

const MODELS = freeEndpoint('models', 'any')
const MODEL = freeEndpoint('model', 'any', { pattern: /^\/v1\/models\/[^/]+(\/[^/]+)*$/ })
const CHAT = modelEndpoint('chat-completions')
const ANTHROPIC = modelEndpoint('messages')
const GENERATE = modelEndpoint('generate-content', { rpm: 30, pattern: GENERATE_PATH })
const RESEARCH = modelEndpoint('deep-research', { rpm: 5 })

const PLAIN = { model: null, stream: false, events: false }

/** Lists the models and serves calls to them in the formats of three SDKs (spec 2.2, 4.6). */
export function modelRoutes(catalogue: ModelCatalogue, calls: ModelCalls, research: ResearchCalls) {
  const one = ({ reply, url }: GatedContext) => {
    const id = decoded(url.pathname.slice('/v1/models/'.length))
    const model = catalogue.byId(id)
    if (model) return reply.free(wireModel(model))
    return reply.refuse(
      failure('unknown_model', 'This model does not exist. GET /v1/models lists the available models.', {
        param: 'model',
      }),
    )
  }
  const generate = (context: GatedContext) => {
    const { pathname, searchParams } = context.url
    const [, model = '', action = ''] = GENERATE_PATH.exec(pathname) ?? []
    const stream = action.toLowerCase() === 'streamgeneratecontent'
    const path = { model: decoded(model), stream, events: stream && searchParams.get('alt') === 'sse' }
    return calls.answer(context, { operation: 'generate-content', wire: GENERATE_CONTENT, path })
  }
  const chat = { operation: 'chat-completions', wire: CHAT_COMPLETIONS, path: PLAIN } as const
  const messages = { operation: 'messages', wire: MESSAGES, path: PLAIN } as const
  const researched = (context: GatedContext) => {
    context.allowSilence()
    return research.answer(askedBy(context))
  }
  const generation = (docs: EndpointDocs | null) =>
    served(GENERATE, ({ context }) => generate(context), docs, CALL_OPTIONS, REQUEST_ID_HEADER)
  const call = (
    endpoint: typeof CHAT,
    answer: (context: GatedContext<KnownCaller>) => Promise<Response>,
    docs: EndpointDocs,
  ) => served(endpoint, ({ context }) => answer(context), docs, CALL_OPTIONS, REQUEST_ID_HEADER)
  return (
    routeGroup({ name: 'models' })
      // Mounted before the model routes, which would match these paths as ids.
      .post('/v1beta/models/*', ...generation(null))
      .post('/v1/models/*', ...generation(null))
      .get(
        '/v1/models',
        ...served(
          MODELS,
          ({ context }) => context.reply.free({ object: 'list', data: catalogue.list().map(wireModel) }),
          MODEL_DOCS.list,
        ),
      )
      .get('/v1/models/:model', ...served(MODEL, ({ context }) => one(context), MODEL_DOCS.one))
      // A model id can contain slashes.
      .get('/v1/models/*', ...served(MODEL, ({ context }) => one(context), null))
      .post('/v1/chat/completions', ...call(CHAT, (context) => calls.answer(context, chat), MODEL_DOCS.chat))
      .post('/v1/messages', ...call(ANTHROPIC, (context) => calls.answer(context, messages), MODEL_DOCS.messages))
      .post('/v1beta/models/:model', ...generation(MODEL_DOCS.generate))
      .post('/v1/deep-research', ...call(RESEARCH, researched, MODEL_DOCS.research))
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
