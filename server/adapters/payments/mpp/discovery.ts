import type { Terms } from '../../../core/payments/method'

const TEXT = { type: 'string' }
/** The schema by which directories validate `info`. */
const INFO_SCHEMA = (methods: readonly string[], more: object) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    input: {
      type: 'object',
      properties: { type: { ...TEXT, const: 'http' }, method: { ...TEXT, enum: methods }, ...more },
      required: ['type', 'method'],
      additionalProperties: false,
    },
  },
  required: ['input'],
})
const OF_QUERY = INFO_SCHEMA(['GET', 'HEAD', 'DELETE'], { queryParams: { type: 'object' } })
const OF_BODY = INFO_SCHEMA(['POST', 'PUT', 'PATCH'], {
  queryParams: { type: 'object' },
  bodyType: { ...TEXT, enum: ['json', 'form-data', 'text'] },
  body: { type: 'object' },
})

/**
 * The Bazaar extension of x402: it lets facilitators list what is paid for. The request itself is the example. Top-ups need a key, so they are
 * not listed.
 */
export function bazaarExtension(
  { resource, binding }: Pick<Terms, 'resource' | 'binding'>,
  url: string,
): Readonly<Record<string, unknown>> {
  if (binding['account'] !== undefined) return {}
  const { method } = resource
  const queryParams = Object.fromEntries(new URL(url).searchParams)
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method)
  const input = { type: 'http', method, queryParams, ...(hasBody && { bodyType: 'json', body: {} }) }
  return { bazaar: { info: { input }, schema: hasBody ? OF_BODY : OF_QUERY } }
}

/** The same for version 1, which has a place for it in each offer. */
export function outputSchemaInV1({ resource, binding }: Terms): Readonly<Record<string, unknown>> {
  return { input: { type: 'http', method: resource.method, discoverable: binding['account'] === undefined } }
}
