import { type Failure, failure } from '../core/failure'
import type { Subject } from '../core/limits/limiter'
import { type Model, type ModelRoute, routesOf } from '../core/models/model'
import { boundsOf } from '../core/models/model-request'
import { mostCost } from '../core/models/token-price'
import { no, ok, type Result } from '../core/result'
import { windowOf } from './admit'
import type { KnownCaller } from './call'
import { countedOn } from './call'
import type { JudgedCall, ModelCall, ModelCounter } from './model-call'

/** Judges the input of a model call: its body, its model, its bounds. Takes nothing. */
export function judgeModelCall(counter: ModelCounter, call: ModelCall): Result<JudgedCall, Failure> {
  const { admitted, wire, path, bytes } = call
  const { caller } = admitted
  if (caller.kind === 'anonymous') throw new Error('the door let nobody known pass to a model')
  const read = wire.read(bytes, path)
  if (!read.ok) return read
  const request = read.value
  const sold = soldModel(counter, caller, request.model, wire.route)
  if (isSold(sold)) call.onModel(request.model)
  if (!sold.ok) return sold
  const model = sold.value
  const cap = request.cap ?? defaultCap(counter, model)
  const bounds = boundsOf(request, model, cap)
  if (!bounds)
    return no(
      failure(
        'unsupported_parameter',
        `A file, sound or film has no bound for its tokens at ${model.id}: its context_tokens are not known here.`,
      ),
    )
  const family = model.family ? windowOf(countedOn(caller).id, model.family) : null
  const subjects = family ? [...admitted.subjects, family] : admitted.subjects
  const tooMany = moreThanMinute(bounds.input.likely, bounds.output, subjects)
  if (tooMany) return no(tooMany)
  const most = mostCost(model.price, { input: bounds.input.most, output: bounds.output })
  return ok({ call, request, model, cap, bounds, most, subjects, family })
}

/** The model of this id, where the caller may call it on this route. */
export function soldModel(
  { catalogue }: Pick<ModelCounter, 'catalogue'>,
  caller: KnownCaller,
  id: string,
  route: ModelRoute,
): Result<Model, Failure> {
  const model = catalogue.byId(id)
  if (!model)
    return no(
      failure('unknown_model', `There is no model "${id.slice(0, 80)}". GET /v1/models lists all.`, { param: 'model' }),
    )
  const allowedModels = caller.kind === 'key' ? caller.key.allowedModels : []
  if (allowedModels.length > 0 && !allowedModels.includes(model.id))
    return no(
      failure('model_not_allowed', `${model.id} is not in this key's list of allowed models.`, { param: 'model' }),
    )
  const routes = routesOf(model)
  if (!routes.includes(route))
    return no(
      failure('model_route_not_supported', `${model.id} is not spoken to on this route, but by ${routes.join(', ')}.`, {
        param: 'model',
      }),
    )
  return ok(model)
}

/** Whether there is such a model, be it not for this caller or on this route. A name that a caller made up is not written down. */
export function isSold(sold: Result<Model, Failure>): boolean {
  return sold.ok || sold.error.code !== 'unknown_model'
}

function defaultCap(counter: ModelCounter, model: Model): number {
  const cap = model.defaultOutputTokens ?? counter.defaultCap
  return Math.min(cap, model.maxOutputTokens ?? cap)
}

/** What no minute has room for is refused now, and not for ever with 429 (spec-answers 8). */
export function moreThanMinute(input: number, output: number, subjects: readonly Subject[]): Failure | null {
  const minute = Math.min(...subjects.map(({ limits }) => limits.tpm))
  if (input + output <= minute) return null
  return failure(
    'max_tokens_exceeded',
    `Some ${input} tokens of input and a cap of ${output} of output are more than the ${minute} tokens of a minute. Lower the cap.`,
  )
}
