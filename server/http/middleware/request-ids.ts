import type { ParameterTable } from '../../core/catalogue/parameters'
import { makeId, type RequestId } from '../../core/ids'

const GOOD_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** For the documents: a bad one is not refused, it is as if none was sent. */
export const REQUEST_ID_HEADER = {
  'x-request-id': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 128,
    pattern: { source: GOOD_ID, rule: 'must be 1 to 128 characters of A-Z a-z 0-9 . _ : -' },
    description:
      'Your own id of this request, sent back and kept with its usage. Need not be unique; a bad one is ignored.',
    example: 'order-1234:images',
  },
} as const satisfies ParameterTable

export interface RequestIds {
  /** Ours: the only key of usage and ledger. */
  readonly own: RequestId
  /** The caller's `X-Request-ID`, when it sent a good one (spec-answers 1). */
  readonly client: string | null
  /** What `X-Request-ID` of the answer says. */
  readonly echoed: string
}

export function requestIds(headers: Headers, now: number): RequestIds {
  const own = makeId('req', now)
  const sent = headers.get('x-request-id')
  const client = sent !== null && GOOD_ID.test(sent) ? sent : null
  return { own, client, echoed: client ?? own }
}

/** The headers that name a request, on every answer. */
export function idHeaders(ids: RequestIds): Record<string, string> {
  return { 'x-request-id': ids.echoed, 'x-gateway-request-id': ids.own }
}
