import type { Static } from '@sinclair/typebox'
import { anyObject, checked, form, text, withRule } from '../openapi/json-schema'

/** A call that an owner makes from the playground with one of their keys. */
export const TriedCall = form(
  'A call to make with one of your keys.',
  {
    key_id: withRule('must be the id of one of your keys', text('Id of one of your keys.')),
    method: text('The method of the endpoint.'),
    path: text('The path and query of an endpoint that accepts API keys.'),
    headers: anyObject('Headers of the call. Headers that endpoints do not use are ignored.'),
    body: checked<unknown>({ description: 'The body of the call: any JSON.' }, () => null),
  },
  ['headers', 'body'],
)
export type TriedCall = Static<typeof TriedCall>
