/** The request log, on any page. */
export const REQUEST_TEXT = {
  title: 'Requests',
  table: 'Request log',
  columns: {
    at: 'Time',
    key: 'Key or app',
    operation: 'Endpoint',
    model: 'Model',
    status: 'Status',
    code: 'Code',
    tokens: 'Tokens',
    cost: 'Cost',
    latency: 'Latency',
    ip: 'Source IP',
    id: 'Request ID',
    more: 'Details',
  },
  latency: (ms: number) => `${ms} ms`,
  tokens: (input: string, output: string) => `${input} in, ${output} out`,
  cache: 'Cached input',
  cached: (read: string, written: string) => `${read} read from cache, ${written} written to cache`,
  counted: 'Token count',
  source: { exact: 'Reported by the provider (exact)', estimated: 'Estimated by the gateway' },
  details: 'Details',
  detailsOf: (time: string) => `Details of the request at ${time}`,
  sheet: 'Request',
  copyId: 'Copy request ID',
  clientId: 'Client request ID',
  none: 'No requests yet.',
  noneMatch: 'No matching requests.',
  clear: 'Clear filters',
  noBodies: 'Request parameters and responses are not stored.',
  operations: {
    'image-search': 'Image search',
    'llm-context': 'LLM context',
    'social-dm': 'Social DM',
    'social-dm-threads': 'Social DM threads',
    usage: 'Usage',
    'usage-request': 'Usage of one request',
    balance: 'Balance',
    none: 'Unknown endpoint',
  } as Readonly<Record<string, string>>,
} as const

/** The display name of an operation; without one, its identifier in words. Imported operations (`api.id`) keep their name. */
export function operationName(name: string): string {
  if (name.includes('.')) return name
  return REQUEST_TEXT.operations[name] ?? name.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase())
}
