import type { Static } from '@sinclair/typebox'
import { listOf, named, nextCursor, opaque, record, text } from '../openapi/json-schema'

export const CatalogOperation = named(
  'CatalogOperation',
  record('An operation that can be bought.', {
    name: text('Its name in allowlists, usage and prices.'),
    api: text('The API that it belongs to.'),
    method: text('The HTTP method.'),
    path: text('The path at this gateway; parameters stand in braces.'),
    title: text('A short title.'),
    description: text('What it does.'),
    price: opaque({
      type: 'object',
      description:
        'What a successful call costs: `ApiPrice`, or `{"mode": "fixed", "usd": "0.005", "unit": "request"}` of a built-in operation.',
      additionalProperties: true,
    }),
    input_schema: opaque({
      type: 'object',
      description: 'A JSON Schema of its parameters by name, and of its body under `body`.',
      additionalProperties: true,
    }),
  }),
)
export type CatalogOperation = Static<typeof CatalogOperation>

export const CatalogPage = named(
  'CatalogPage',
  record('A page of the catalog.', {
    operations: listOf(CatalogOperation, 'The operations, by name.'),
    next_cursor: nextCursor(),
  }),
)
export type CatalogPage = Static<typeof CatalogPage>
