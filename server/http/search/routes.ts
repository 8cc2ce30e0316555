import { IMAGE_SEARCH, type ImageSearchInput } from '../../core/catalogue/image-search'
import { LLM_CONTEXT, type LlmContextInput } from '../../core/catalogue/llm-context'
import type { Operation } from '../../core/catalogue/operation'
import type { Provider } from '../../core/providers/provider'
import { CALL_OPTIONS } from '../middleware/call-options'
import type { PricedCalls, PricedRoute } from '../middleware/priced'
import { routeGroup } from '../middleware/request-context'
import { REQUEST_ID_HEADER } from '../middleware/request-ids'
import { documented } from '../openapi/documented'
import { gated } from '../routing/gated'
import { dataDocs, routeParameters } from './docs'

export interface DataProviders {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
}

/** Image search and LLM context (spec 4.1, 4.2). */
export function dataRoutes(calls: PricedCalls, providers: DataProviders) {
  const headers = (input: { readonly 'api-version': string }) => ({ 'api-version': input['api-version'] })
  const images: PricedRoute<typeof IMAGE_SEARCH.parameters> = {
    operation: IMAGE_SEARCH,
    provider: providers.images,
    headers,
  }
  const llmContext: PricedRoute<typeof LLM_CONTEXT.parameters> = {
    operation: LLM_CONTEXT,
    provider: providers.context,
    headers,
  }
  return routeGroup({ name: 'data' })
    .get(
      IMAGE_SEARCH.path,
      gated(({ context }) => calls.answer(context, images)),
      docs(IMAGE_SEARCH, 'GET'),
    )
    .get(
      LLM_CONTEXT.path,
      gated(({ context }) => calls.answer(context, llmContext)),
      docs(LLM_CONTEXT, 'GET'),
    )
    .post(
      LLM_CONTEXT.path,
      gated(({ context }) => calls.answer(context, llmContext)),
      {
        parse: 'none',
        ...docs(LLM_CONTEXT, 'POST'),
      },
    )
}

function docs(operation: Operation, method: 'GET' | 'POST') {
  return documented(dataDocs(operation, method), routeParameters(operation, method), CALL_OPTIONS, REQUEST_ID_HEADER)
}
