import type { Tool } from './tool'

/** A question that several searches and a model answer. Long: it sends progress, and what it costs is bounded, not fixed. */
export const RESEARCH_TOOL: Tool = {
  name: 'deep_research',
  title: 'Deep research',
  description:
    'Answers a question from several searches, read and summed up by a model, with citations. Costs the searches and tokens it comes to; ' +
    'set max_price_usd, and it searches no more than that allows. Takes up to minutes.',
  inputSchema: {
    type: 'object',
    properties: {
      model: { type: 'string', description: 'Id of a model of this gateway (GET /v1/models).' },
      query: { type: 'string', description: 'The question.' },
      max_searches: { type: 'integer', minimum: 1, description: 'Most searches.' },
      max_tokens: { type: 'integer', minimum: 1, description: 'Most tokens of the answer.' },
      max_price_usd: { type: 'string', description: 'The most the whole call may cost in USD, such as "0.10".' },
    },
    required: ['model', 'query'],
    additionalProperties: false,
  },
  isReadOnly: true,
  isFromOutside: true,
  isLong: true,
  route: { kind: 'priced', operation: 'deep-research', scope: 'models:use' },
  call({ max_price_usd: most, stream: _whole, ...body }) {
    if (most !== undefined && (typeof most !== 'string' || !/^[\d.]{1,20}$/.test(most)))
      return 'max_price_usd must be an amount of USD as text, such as "0.10"'
    const headers = typeof most === 'string' ? { 'x-max-price-usd': most } : {}
    return { method: 'POST', path: '/v1/deep-research', headers, body }
  },
}
