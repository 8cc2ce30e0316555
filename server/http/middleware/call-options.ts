import { type ParameterError, type ParameterTable, parseParameters } from '../../core/catalogue/parameters'
import { parseUsd } from '../../core/money'
import { ok, type Result } from '../../core/result'
import type { CallOptions } from '../../pipeline/call'

const PRICE_RULE = 'must be an amount of USD such as 0.01, with at most 6 decimals'

/** What a caller may ask of any priced call (spec-answers 5). */
export const CALL_OPTIONS = {
  'x-max-price-usd': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 20,
    pattern: { source: /^\d{1,10}(\.\d{1,6})?$/, rule: PRICE_RULE },
    check: (text) => (parseUsd(text) === null ? PRICE_RULE : null),
    description: 'USD. Refuse, before anything runs, when the request would cost more than this.',
    example: '0.5',
  },
  'idempotency-key': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 255,
    pattern: { source: /^[\x21-\x7e]{1,255}$/, rule: 'must be 1 to 255 visible ASCII characters' },
    description:
      'Your name of this request. The same key and request get the first answer again for 24 hours without a second charge; another request under the key is 409. Per account and operation; ignored without a key.',
    example: '5f0c8a52-4d0a-4a44-9d5a-7d6c1d4b7c11',
  },
  'x-cost-mode': {
    in: 'header',
    kind: 'enum',
    values: ['quote'],
    description: '`quote` answers what the request would cost; nothing runs, nothing is charged.',
  },
} as const satisfies ParameterTable

/** What the headers of a priced call ask for, or everything that is wrong with them. */
export function readCallOptions(
  header: (name: string) => string | null,
): Result<CallOptions, readonly ParameterError[]> {
  const read = parseParameters(CALL_OPTIONS, { query: () => [], header })
  if (!read.ok) return read
  const most = read.value['x-max-price-usd']
  return ok({
    maxPrice: most === undefined ? null : parseUsd(most),
    quote: read.value['x-cost-mode'] === 'quote',
    idempotencyKey: read.value['idempotency-key'] ?? null,
  })
}
