import { queryOptions } from '@tanstack/react-query'
import { api, unwrap } from '../client/client.ts'
import type { EndpointType } from './chat-wires.ts'

/** All models of this gateway, by id. */
export const modelsQuery = queryOptions({ queryKey: ['models'], queryFn: async () => (await fetchModels()).data })

export type OfferedModel = Awaited<ReturnType<typeof fetchModels>>['data'][number]

function fetchModels() {
  return unwrap(api.models.get())
}

/**
 * The maximum cost of a call with this body, which is the amount that the gateway would hold. Free, and does not count as a
 * request.
 */
export const estimateQuery = (type: EndpointType, model: string, body: object) =>
  queryOptions({
    queryKey: ['estimate', type, model, body],
    queryFn: () => unwrap(api.models.estimate.post({ endpoint_type: type, model, body })),
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  })
