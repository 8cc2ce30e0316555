import { failure } from '../../core/failure'
import type { ModelCatalogue } from '../../core/models/catalogue'
import { CHAT_COMPLETIONS } from '../../pipeline/models/wires/chat-completions-wire'
import { GENERATE_CONTENT } from '../../pipeline/models/wires/generate-content-wire'
import { MESSAGES } from '../../pipeline/models/wires/messages-wire'
import { CALL_OPTIONS } from '../middleware/call-options'
import { askedBy } from '../middleware/priced'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented, UNDOCUMENTED } from '../openapi/documented'
import { gated } from '../routing/gated'
import { GENERATE_PATH } from '../routing/google-path'
import { MODEL_DOCS } from './docs'
import type { ModelCalls } from './model-calls'
import { wireModel } from './record'
import type { ResearchCalls } from './research-calls'

const PLAIN = { model: null, stream: false, events: false }

/** The models (spec 2.2, 4.6): what there is, and calls of them in the wires of three SDKs. */
export function modelRoutes(catalogue: ModelCatalogue, calls: ModelCalls, research: ResearchCalls) {
  const one = ({ reply, url }: GatedContext) => {
    const id = decoded(url.pathname.slice('/v1/models/'.length))
    const model = catalogue.byId(id)
    if (model) return reply.free(wireModel(model))
    return reply.refuse(
      failure('unknown_model', 'There is no such model. GET /v1/models lists all.', { param: 'model' }),
    )
  }
  const generate = (context: GatedContext) => {
    const { pathname, searchParams } = context.url
    const [, model = '', action = ''] = GENERATE_PATH.exec(pathname) ?? []
    const stream = action.toLowerCase() === 'streamgeneratecontent'
    const path = { model: decoded(model), stream, events: stream && searchParams.get('alt') === 'sse' }
    return calls.answer(context, { operation: 'generate-content', wire: GENERATE_CONTENT, path })
  }
  return (
    routeGroup({ name: 'models' })
      .get(
        '/v1/models',
        gated(({ context }) => context.reply.free({ object: 'list', data: catalogue.list().map(wireModel) })),
        documented(MODEL_DOCS.list),
      )
      .get(
        '/v1/models/:model',
        gated(({ context }) => one(context)),
        documented(MODEL_DOCS.one),
      )
      // An id may have slashes of its own.
      .get(
        '/v1/models/*',
        gated(({ context }) => one(context)),
        UNDOCUMENTED,
      )
      .post(
        '/v1/chat/completions',
        gated(({ context }) =>
          calls.answer(context, { operation: 'chat-completions', wire: CHAT_COMPLETIONS, path: PLAIN }),
        ),
        { parse: 'none', ...documented(MODEL_DOCS.chat, CALL_OPTIONS, REQUEST_ID_HEADER) },
      )
      .post(
        '/v1/messages',
        gated(({ context }) => calls.answer(context, { operation: 'messages', wire: MESSAGES, path: PLAIN })),
        { parse: 'none', ...documented(MODEL_DOCS.messages, CALL_OPTIONS, REQUEST_ID_HEADER) },
      )
      .post(
        '/v1beta/models/:model',
        gated(({ context }) => generate(context)),
        {
          parse: 'none',
          ...documented(MODEL_DOCS.generate, CALL_OPTIONS, REQUEST_ID_HEADER),
        },
      )
      .post(
        '/v1beta/models/*',
        gated(({ context }) => generate(context)),
        { parse: 'none', ...UNDOCUMENTED },
      )
      .post(
        '/v1/deep-research',
        gated(({ context }) => {
          context.allowSilence()
          return research.answer(askedBy(context))
        }),
        {
          parse: 'none',
          ...documented(MODEL_DOCS.research, CALL_OPTIONS, REQUEST_ID_HEADER),
        },
      )
      .post(
        '/v1/models/*',
        gated(({ context }) => generate(context)),
        { parse: 'none', ...UNDOCUMENTED },
      )
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
