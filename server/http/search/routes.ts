import { IMAGE_SEARCH } from '../../core/catalogue/image-search'
import { LLM_CONTEXT } from '../../core/catalogue/llm-context'
import type { Operation, OperationName } from '../../core/catalogue/operation'
import { CALL_OPTIONS } from '../middleware/call-options'
import { askedBy, type PricedCalls } from '../middleware/priced'
import { routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented } from '../openapi/documented'
import { type GatedCall, gated } from '../routing/gated'
import { dataDocs, routeParameters } from './docs'

/** Image search and LLM context (spec 4.1, 4.2). */
export function dataRoutes(calls: PricedCalls) {
  const answer = (name: OperationName) => gated(({ context }: GatedCall) => calls.answer(askedBy(context), name))
  return routeGroup({ name: 'data' })
    .get(IMAGE_SEARCH.path, answer(IMAGE_SEARCH.name), docs(IMAGE_SEARCH, 'GET'))
    .get(LLM_CONTEXT.path, answer(LLM_CONTEXT.name), docs(LLM_CONTEXT, 'GET'))
    .post(LLM_CONTEXT.path, answer(LLM_CONTEXT.name), {
      parse: 'none',
      ...docs(LLM_CONTEXT, 'POST'),
    })
}

function docs(operation: Operation, method: 'GET' | 'POST') {
  return documented(dataDocs(operation, method), routeParameters(operation, method), CALL_OPTIONS, REQUEST_ID_HEADER)
}
