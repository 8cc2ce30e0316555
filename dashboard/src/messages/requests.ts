/** The request log, wherever it is shown. */
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
  cache: 'Of the input',
  cached: (read: string, written: string) => `${read} read from a cache, ${written} written to one`,
  counted: 'Counted by',
  source: { exact: 'The vendor: exact', estimated: 'The gateway, from what went through: estimated' },
  details: 'Details',
  detailsOf: (time: string) => `Details of the request of ${time}`,
  sheet: 'Request',
  copyId: 'Copy request ID',
  clientId: "Caller's own ID",
  none: 'No requests yet.',
  noneMatch: 'No requests match.',
  clear: 'Clear filters',
  noBodies: 'Neither parameters nor answers of requests are kept.',
  operations: {
    'image-search': 'Image search',
    'llm-context': 'LLM context',
    'social-dm': 'Social DM',
    'social-dm-threads': 'Social DM threads',
    usage: 'Usage',
    'usage-request': 'Usage of a request',
    balance: 'Balance',
    none: 'Unknown endpoint',
  } as Readonly<Record<string, string>>,
} as const

/** What an operation is called; one that has no words yet is called by its name. */
export function operationName(name: string): string {
  return REQUEST_TEXT.operations[name] ?? name.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase())
}
