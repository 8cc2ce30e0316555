import type { Static } from '@sinclair/typebox'
import { anyObject, form, judged, saying, text } from '../openapi/json-schema'

/** A call that an owner makes from the playground, as one of their keys. */
export const TriedCall = form(
  'A call to make as a key of yours.',
  {
    key_id: saying('must be the id of a key of yours', text('Id of a key of yours.')),
    method: text('The method of the endpoint.'),
    path: text('The path of an endpoint that takes a key, with its query.'),
    headers: anyObject('Headers of the call. Those that mean nothing to an endpoint are left out.'),
    body: judged<unknown>({ description: 'The body of the call: any JSON.' }, () => null),
  },
  ['headers', 'body'],
)
export type TriedCall = Static<typeof TriedCall>
