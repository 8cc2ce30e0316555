import { type ParameterError, type ParameterTable, parseParameters } from '../../../core/catalog/parameters'
import { parseUsd } from '../../../core/money'
import { ok, type Result } from '../../../core/result'
import type { CallOptions } from '../../../pipeline/call'

const PRICE_RULE = 'must be an amount of USD such as 0.01, with at most 6 decimals'

/** The options of every priced call (spec D5). */
export const CALL_OPTIONS = {
  'x-max-price-usd': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 20,
    pattern: { source: /^\d{1,10}(\.\d{1,6})?$/, rule: PRICE_RULE },
    check: (text) => (parseUsd(text) === null ? PRICE_RULE : null),
    description: 'Maximum price in USD. A request that would cost more is refused before anything runs.',
    example: '0.5',
  },
  'idempotency-key': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 255,
    pattern: { source: /^[\x21-\x7e]{1,255}$/, rule: 'must be 1 to 255 visible ASCII characters' },
    description:
      'A unique key for this request. For 24 hours, repeating the request with the same key returns the first response without a second charge; a different request with the same key returns 409. Keys are per account and operation. Ignored without an API key.',
    example: '5f0c8a52-4d0a-4a44-9d5a-7d6c1d4b7c11',
  },
  'x-cost-mode': {
    in: 'header',
    kind: 'enum',
    values: ['quote'],
    description: '`quote` returns what the request would cost (a `Quote`). Nothing runs and nothing is charged.',
  },
  'x-budget-scope': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 64,
    pattern: { source: /^[\w.:@-]{1,64}$/, rule: 'must be 1 to 64 of letters, digits, and _ . : @ -' },
    description:
      'A customer or run that the request is counted for. Usage can be grouped by it, and the `scope_budget` of the key caps what each may spend.',
    example: 'run_42',
  },
} as const satisfies ParameterTable

const NO_OPTIONS: Result<CallOptions, never> = ok({
  maxPrice: null,
  quote: false,
  idempotencyKey: null,
  budgetScope: null,
})
const NAMES = Object.keys(CALL_OPTIONS)

interface HeaderSource {
  header(name: string): string | null
}

/** Reads the options from the headers of a priced call, or lists everything wrong with them. */
export function readCallOptions(request: HeaderSource): Result<CallOptions, readonly ParameterError[]> {
  return hasOptions(request) ? parseOptions(request) : NO_OPTIONS
}

function hasOptions(request: HeaderSource): boolean {
  for (const name of NAMES) if (request.header(name) !== null) return true
  return false
}

function parseOptions(request: HeaderSource): Result<CallOptions, readonly ParameterError[]> {
  const read = parseParameters(CALL_OPTIONS, { query: () => [], header: (name) => request.header(name) })
  if (!read.ok) return read
  const maxPrice = read.value['x-max-price-usd']
  return ok({
    maxPrice: maxPrice === undefined ? null : parseUsd(maxPrice),
    quote: read.value['x-cost-mode'] === 'quote',
    idempotencyKey: read.value['idempotency-key'] ?? null,
    budgetScope: read.value['x-budget-scope'] ?? null,
  })
}
