import { IMAGE_SEARCH } from '../../core/catalog/image-search'
import { LLM_CONTEXT } from '../../core/catalog/llm-context'
import type { Operation } from '../../core/catalog/operation'
import { CALL_OPTIONS } from '../middleware/input/call-options'
import type { PricedCalls } from '../middleware/priced'
import { routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented } from '../openapi/documented'
import { operationEndpoint, sold } from '../routing/endpoint'
import { dataDocs, routeParameters } from './docs'

const IMAGES = operationEndpoint(IMAGE_SEARCH)
const CONTEXT = operationEndpoint(LLM_CONTEXT)

/** Image search and LLM context (spec 4.1, 4.2). */
export function dataRoutes(calls: PricedCalls) {
  const route = (method: 'GET' | 'POST', endpoint: typeof IMAGES, operation: Operation) => {
    const tables = [routeParameters(operation, method), CALL_OPTIONS, REQUEST_ID_HEADER]
    const hook = documented(dataDocs(operation, method), ...tables)
    return sold(endpoint, hook, (context) => calls.answer(context, operation.name))
  }
  return routeGroup({ name: 'data' })
    .get(IMAGE_SEARCH.path, ...route('GET', IMAGES, IMAGE_SEARCH))
    .get(LLM_CONTEXT.path, ...route('GET', CONTEXT, LLM_CONTEXT))
    .post(LLM_CONTEXT.path, ...route('POST', CONTEXT, LLM_CONTEXT))
}
