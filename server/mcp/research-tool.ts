import { argumentName, type Tool } from './tool'

const MAX_NAMED = 10

/**
 * Answers a question with several searches and a model. Long-running, with progress; its cost is bounded, not fixed. `models`: the ids that
 * the caller may use, the default first.
 */
export function researchTool(models: readonly string[]): Tool {
  const [first, ...others] = models
  const more =
    others.length > 0
      ? ` Others: ${others.slice(0, MAX_NAMED).join(', ')}${others.length > MAX_NAMED ? ', ...' : ''}.`
      : ''
  const ids = first === undefined ? 'Id of a model, see the tool models.' : `Id of a model. Default: ${first}.${more}`
  return {
    name: 'deep_research',
    title: 'Deep research',
    description:
      'Answers a question with citations, from several searches that a model reads and summarises. Charged for the searches and tokens ' +
      'it uses; set max_price_usd to limit the cost. Can take several minutes.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'The question.' },
        model: { type: 'string', description: ids },
        max_searches: { type: 'integer', minimum: 1, description: 'Maximum number of searches.' },
        max_tokens: { type: 'integer', minimum: 1, description: 'Maximum tokens of the answer.' },
        max_price_usd: { type: 'string', description: 'Maximum price of the whole call in USD, such as "0.10".' },
      },
      required: first === undefined ? ['model', 'query'] : ['query'],
      additionalProperties: false,
    },
    isReadOnly: true,
    isDestructive: false,
    isIdempotent: true,
    isFromOutside: true,
    isLong: true,
    route: { kind: 'priced', operation: 'deep-research', scope: 'models:use', alsoScope: 'data:read', takesSlot: true },
    shownName: argumentName,
    call({ max_price_usd: maxPrice, stream: _whole, model = first, ...body }) {
      if (maxPrice !== undefined && (typeof maxPrice !== 'string' || !/^[\d.]{1,20}$/.test(maxPrice)))
        return 'max_price_usd must be an amount in USD as text, such as "0.10"'
      const headers = typeof maxPrice === 'string' ? { 'x-max-price-usd': maxPrice } : {}
      return {
        method: 'POST',
        path: '/v1/deep-research',
        headers,
        body: { ...body, ...(model !== undefined && { model }) },
      }
    },
  }
}
