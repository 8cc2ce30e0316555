import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import type { JsonSchema } from '../openapi/json-schema'
import { extractNamed } from '../openapi/named-schemas'
import { CatalogFile } from './record'

const CATALOG_SCHEMA = JSON.stringify(catalogSchema())

/** The JSON Schema of catalog files, for editors and checks (docs/sell-your-api.md). */
export function schemaRoutes() {
  return routeGroup({ name: 'schemas' }).get(
    '/schemas/catalog.json',
    () =>
      new Response(CATALOG_SCHEMA, {
        headers: { 'content-type': 'application/schema+json', 'cache-control': 'no-cache' },
      }),
    UNDOCUMENTED,
  )
}

function catalogSchema(): JsonSchema {
  const { node, schemas } = extractNamed({ catalog: CatalogFile })
  const root = schemas['CatalogFile'] ?? node.catalog
  const { CatalogFile: _, ...$defs } = schemas
  const whole = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Catalog', ...root, $defs }
  return JSON.parse(JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/')) as JsonSchema
}
