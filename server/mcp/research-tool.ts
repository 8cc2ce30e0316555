import type { Tool } from './tool'

/** Answers a question with several searches and a model. Long-running, with progress; its cost is bounded, not fixed. */
export const RESEARCH_TOOL: Tool = {
  name: 'deep_research',
  title: 'Deep research',
  description:
    'Answers a question with citations, from several searches that a model reads and summarises. Charged for the searches and tokens ' +
    'it uses; set max_price_usd to limit the cost. Can take several minutes.',
  inputSchema: {
    type: 'object',
    properties: {
      model: { type: 'string', description: 'Id of a model of this gateway (GET /v1/models).' },
      query: { type: 'string', description: 'The question.' },
      max_searches: { type: 'integer', minimum: 1, description: 'Maximum number of searches.' },
      max_tokens: { type: 'integer', minimum: 1, description: 'Maximum tokens of the answer.' },
      max_price_usd: { type: 'string', description: 'Maximum price of the whole call in USD, such as "0.10".' },
    },
    required: ['model', 'query'],
    additionalProperties: false,
  },
  isReadOnly: true,
  isFromOutside: true,
  isLong: true,
  route: { kind: 'priced', operation: 'deep-research', scope: 'models:use', alsoScope: 'data:read' },
  call({ max_price_usd: maxPrice, stream: _whole, ...body }) {
    if (maxPrice !== undefined && (typeof maxPrice !== 'string' || !/^[\d.]{1,20}$/.test(maxPrice)))
      return 'max_price_usd must be an amount in USD as text, such as "0.10"'
    const headers = typeof maxPrice === 'string' ? { 'x-max-price-usd': maxPrice } : {}
    return { method: 'POST', path: '/v1/deep-research', headers, body }
  },
}
