import { queryOptions } from '@tanstack/react-query'
import { api, unwrap } from '../client/client.ts'
import type { EndpointType } from './chat-wires.ts'

/** Every model of this gateway, by id. */
export const modelsQuery = queryOptions({ queryKey: ['models'], queryFn: async () => (await fetchModels()).data })

export type OfferedModel = Awaited<ReturnType<typeof fetchModels>>['data'][number]

function fetchModels() {
  return unwrap(api.models.get())
}

/** What a call with this body comes to at most, as the gateway itself holds it. Free, and not a request of any key. */
export const estimateQuery = (type: EndpointType, model: string, body: object) =>
  queryOptions({
    queryKey: ['estimate', type, model, body],
    queryFn: () => unwrap(api.models.estimate.post({ endpoint_type: type, model, body })),
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  })
