import { swagger } from '@elysiajs/swagger'
import { Elysia } from 'elysia'
import type { Brand } from '../../core/brand'
import type { Payments } from '../../core/payments/payments'
import { signInPaths } from '../account/sign-in-docs'
import { notFound } from '../middleware/response/failures'
import type { DashboardFiles } from '../system/dashboard-files'
import { agentGuide } from './agent-guide'
import { docsPage, missingDocsPage, scalarSettings } from './docs-page'
import { describeRoutes, UNDOCUMENTED } from './documented'
import { failureComponents } from './failure-documents'
import { operationDocument, operationIndex } from './one-operation'
import type { ImportedPaths, OpenApiDocument } from './open-api'
import { GENERATOR_INFO, openApiDocument, withSafeTexts } from './open-api-document'
import { mcpServer, type PriceLookup, pricingOf, withPaymentOffers, x402Resources } from './payment-discovery'

const PAGE = '/docs'
const DOCUMENT = '/openapi.json'
/** The playground's source, instead of a document that grows with the catalog: a list, and one operation at a time. */
const OPERATIONS = '/openapi/operations'
const SCRIPT = '/vendor/scalar.js'

interface DocsParts {
  readonly baseUrl: string
  readonly brand: Brand
  readonly dashboard: DashboardFiles
  /** All routes, before the first request. */
  readonly mounted: Parameters<typeof describeRoutes>[0]
  readonly payments: Pick<Payments, 'waysFor'>
  readonly prices: PriceLookup
  /** The imported operations on sale now. `version` is another object after each change. */
  readonly imported: () => { readonly version: object; document(): ImportedPaths }
}

/**
 * API documentation: `/docs` for people, `/openapi.json` for programs, `/llms.txt` for agents. @elysiajs/swagger collects it from
 * the routes, and gives the page of `/docs`; its own handlers never run.
 */
export function docsRoutes({ baseUrl, brand, dashboard, mounted, payments, prices, imported }: DocsParts) {
  const generator = swagger({
    path: PAGE,
    specPath: DOCUMENT,
    excludeStaticFile: false,
    scalarCDN: SCRIPT,
    // The plugin's types are for an older Scalar and OpenAPI 3.0.
    scalarConfig: scalarSettings(DOCUMENT) as object,
    documentation: { info: GENERATOR_INFO },
  })
  const handlerOf = (path: string): unknown => generator.routes.find((route) => route.path === path)?.handler
  const html = handlerOf(PAGE)
  const generate = handlerOf(DOCUMENT)
  if (!(html instanceof Response) || typeof generate !== 'function') throw new Error('@elysiajs/swagger has changed')
  const collected = (): OpenApiDocument['paths'] => {
    describeRoutes(mounted)
    const { paths } = generate() as Pick<OpenApiDocument, 'paths'> // the operations of `describeRoutes`
    return { ...paths, ...signInPaths() }
  }
  const document = currentDocument(collected, { baseUrl, brand, payments, prices, imported })
  return new Elysia({ name: 'docs' })
    .onBeforeHandle(async ({ path }) => {
      if (path === DOCUMENT) return text(written(await document()), 'application/json')
      if (path !== PAGE) return undefined
      const script = scriptAddress(dashboard)
      return script === null
        ? missingDocsPage()
        : docsPage((await html.clone().text()).replace(`src="${SCRIPT}"`, `src="${script}"`))
    })
    .use(generator)
    .get(
      '/.well-known/mcp/server.json',
      () => text(JSON.stringify(mcpServer(baseUrl)), 'application/json'),
      UNDOCUMENTED,
    )
    .get(
      '/.well-known/x402',
      async () => text(JSON.stringify(x402Resources(await document(), baseUrl)), 'application/json'),
      UNDOCUMENTED,
    )
    .get(
      OPERATIONS,
      async () => text(JSON.stringify(operationIndex(await document())), 'application/json'),
      UNDOCUMENTED,
    )
    .get(
      `${OPERATIONS}/:id`,
      async ({ params }) => {
        const one = operationDocument(await document(), params.id)
        if (!one) throw notFound('There is no operation of this id. GET /openapi.json lists all of them.')
        return text(JSON.stringify(one), 'application/json')
      },
      UNDOCUMENTED,
    )
    .get(
      '/llms.txt',
      async () => text(agentGuide(await document(), baseUrl), 'text/plain; charset=utf-8'),
      UNDOCUMENTED,
    )
}

/**
 * The document of this moment. Built at its first use, when all routes are mounted and the payment methods are known, and again after each
 * change of the catalog or of a price.
 */
function currentDocument(
  collected: () => OpenApiDocument['paths'],
  { baseUrl, brand, payments, prices, imported }: Omit<DocsParts, 'dashboard' | 'mounted'>,
): () => Promise<OpenApiDocument> {
  const pricing = pricingOf(payments, prices)
  let builtIn: OpenApiDocument | null = null
  let built: { readonly version: object; readonly priced: string; readonly document: Promise<OpenApiDocument> } | null =
    null
  return () => {
    const { version, document: describe } = imported()
    const priced = pricing.version()
    if (built?.version !== version || built.priced !== priced) {
      builtIn ??= openApiDocument(collected(), baseUrl, brand)
      const safe = withSafeTexts(withImported(builtIn, describe()))
      built = { version, priced, document: withPaymentOffers(safe, pricing) }
    }
    return built.document
  }
}

function withImported(builtIn: OpenApiDocument, imported: ImportedPaths): OpenApiDocument {
  const paths = { ...builtIn.paths, ...imported.paths }
  const schemas = { ...builtIn.components['schemas'], ...imported.schemas }
  return { ...builtIn, paths, components: { ...builtIn.components, schemas, responses: failureComponents(paths) } }
}

/** Each document as it is sent. */
const sent = new WeakMap<OpenApiDocument, string>()

/** A document as JSON, written once: it takes the thread that answers all requests 15 ms. */
function written(document: OpenApiDocument): string {
  const json = sent.get(document) ?? JSON.stringify(document)
  sent.set(document, json)
  return json
}

function text(body: string, contentType: string): Response {
  return new Response(body, {
    headers: { 'content-type': contentType, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' },
  })
}

/** The address of the docs script, with a content hash so that it can be cached forever; null if it was not built. */
function scriptAddress(dashboard: DashboardFiles): string | null {
  const file = dashboard.answer(new Request(`http://localhost${SCRIPT}`, { method: 'HEAD' }))
  const version = /[\w-]+/.exec(file?.headers.get('etag') ?? '')?.[0]
  return version === undefined ? null : `${SCRIPT}?v=${version}`
}
