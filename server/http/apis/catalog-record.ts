import type { Static } from '@sinclair/typebox'
import {
  anyObject,
  listOf,
  named,
  nextCursor,
  oneOf,
  opaque,
  orNull,
  record,
  text,
  yesOrNo,
} from '../openapi/json-schema'

export const CatalogOperation = named(
  'CatalogOperation',
  record('An operation that can be bought.', {
    name: text('Its name in allowlists, usage and prices.'),
    api: text('The API that it belongs to.'),
    api_title: text('The title of that API.'),
    method: text('The HTTP method.'),
    path: text('The path at this gateway; parameters stand in braces.'),
    title: text('A short title.'),
    description: text('What it does.'),
    effect: oneOf(['read', 'write'], 'Whether it changes something.'),
    pay_per_request: yesOrNo('Whether a single call can be paid for without a key, by HTTP 402.'),
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
    parameters: listOf(
      record('Where a parameter is sent.', {
        input: text('Its name in `input_schema`.'),
        name: text('Its name in a request.'),
        in: oneOf(['path', 'query', 'header', 'body'], 'Its place in a request. `body`: a member of the JSON body.'),
      }),
      'Where each parameter is sent, in order.',
    ),
    body_type: orNull(
      text('The content type of its body: JSON or a form.'),
      'The content type of its body; null if it takes none.',
    ),
    examples: listOf(
      record('An example call.', {
        title: text('What it shows.'),
        input: anyObject('Parameters by name; a body under `body`.'),
      }),
      'Example calls.',
    ),
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
