import { join } from 'node:path'
import { buildIndex } from '../../../server/adapters/websearch/local/build/build-index'
import { openLocalWebsearch } from '../../../server/adapters/websearch/local/open-local-websearch'
import type { OpenApiDocument, OpenApiOperation, OpenApiResponse } from '../../../server/http/openapi/open-api'
import { temporaryFolder, writeFixtureProject } from '../../adapters/websearch/local/fixture-index'
import { openHarness } from '../../support/harness'

export interface DocumentedRoute {
  readonly method: string
  readonly path: string
  readonly operation: OpenApiOperation & { readonly responses: Readonly<Record<string, OpenApiResponse>> }
}

/** A whole gateway whose searches are answered by a real, small index, and the document it serves. */
export async function openDocumentedGateway() {
  const folder = temporaryFolder()
  const indexPath = join(folder.path, 'search.db')
  await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')) })
  const gateway = await openHarness({ env: { SANDBOX_TOPUPS: 'true' } })
  const search = openLocalWebsearch({
    indexPath,
    baseUrl: gateway.config.baseUrl,
    now: () => gateway.clock.now(),
  })
  const real = () => {
    gateway.images.answer = (...asked) => search.images.call(...asked)
    gateway.context.answer = (...asked) => search.context.call(...asked)
  }
  real()
  const document = (await (await gateway.call('/openapi.json')).json()) as OpenApiDocument
  return {
    ...gateway,
    document,
    /** Lets the real index answer again. */
    real,
    async close() {
      await gateway.close()
      await search.close()
      folder.remove()
    },
  }
}

/** All operations, with their failures in place of the references to them. */
export function routesOf({ paths, components }: OpenApiDocument): DocumentedRoute[] {
  const responsesOf = ({ responses }: OpenApiOperation) =>
    Object.entries(responses).map(([status, response]) => {
      if (!('$ref' in response)) return [status, response] as const
      const name = response.$ref.replace('#/components/responses/', '')
      return [status, components['responses']?.[name] as OpenApiResponse] as const
    })
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: { ...operation, responses: Object.fromEntries(responsesOf(operation)) },
    })),
  )
}
