import { wrong } from '../../core/accounts/submitted'
import { wrongParameters } from '../../core/failure'
import type { ModelCatalogue } from '../../core/models/catalogue'
import { CHAT_COMPLETIONS } from '../../pipeline/models/wires/chat-completions-wire'
import { GENERATE_CONTENT } from '../../pipeline/models/wires/generate-content-wire'
import { MESSAGES } from '../../pipeline/models/wires/messages-wire'
import { Failed } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { MODEL_DOCS } from './docs'
import type { ModelCalls } from './model-calls'
import { wireModel } from './record'

const WIRES = [CHAT_COMPLETIONS, MESSAGES, GENERATE_CONTENT]

/** Models as an owner looks at them before a call: what there is, and what a call would cost at most. */
export function ownerModelRoutes(parts: { owners: OwnerSessions; models: ModelCatalogue; modelCalls: ModelCalls }) {
  const { owners, models, modelCalls } = parts
  return routeGroup({ name: 'owner-models', prefix: '/api' })
    .get(
      '/models',
      async ({ context }) => {
        await owners.owner(context)
        return { object: 'list' as const, data: models.list().map(wireModel) }
      },
      documented(MODEL_DOCS.offered),
    )
    .post(
      '/models/estimate',
      async ({ context }) => {
        await owners.owner(context)
        const read = await readJson(context)
        if (!read.ok) throw new Failed(read.error)
        const { wire, model, body } = wanted(read.value)
        const bytes = new TextEncoder().encode(JSON.stringify(body))
        const estimate = modelCalls.estimate({ wire, path: { model, stream: false, events: false }, bytes })
        if (!estimate.ok) throw new Failed(estimate.error)
        const { bounds, most } = estimate.value
        return {
          model: estimate.value.model.id,
          price_version: estimate.value.model.priceVersion,
          most_micros_usd: most,
          likely_input_tokens: bounds.input.likely,
          most_input_tokens: bounds.input.most,
          most_output_tokens: bounds.output,
        }
      },
      { parse: 'none', ...documented(MODEL_DOCS.estimate) },
    )
}

/** The call that is asked about: `{endpoint_type, model, body}`. */
function wanted(asked: unknown) {
  const given = (name: string): unknown => Reflect.get(Object(asked), name)
  const [type, model, body] = [given('endpoint_type'), given('model'), given('body')]
  const wire = WIRES.find(({ route }) => route === type)
  const errors = [
    ...(wire ? [] : [wrong('endpoint_type', `must be one of ${WIRES.map(({ route }) => route).join(', ')}`, type)]),
    ...(typeof model === 'string' ? [] : [wrong('model', 'must be the id of a model', model)]),
    ...(typeof body === 'object' && body !== null ? [] : [wrong('body', 'must be an object', body)]),
  ]
  if (!wire || typeof model !== 'string' || errors.length > 0) throw new Failed(wrongParameters(errors))
  return { wire, model, body }
}
