import type { ParameterTable } from '../../core/catalog/parameters'
import { makeId, type RequestId } from '../../core/ids'

const VALID_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** For the documentation. An invalid id is ignored, not refused. */
export const REQUEST_ID_HEADER = {
  'x-request-id': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 128,
    pattern: { source: VALID_ID, rule: 'must be 1 to 128 characters of A-Z a-z 0-9 . _ : -' },
    description:
      'Your own id for this request, echoed in the response and stored with its usage. Need not be unique. An invalid id is ignored.',
    example: 'order-1234:images',
  },
} as const satisfies ParameterTable

export interface RequestIds {
  /** The gateway's own id: the key of usage and ledger. */
  readonly own: RequestId
  /** The caller's `X-Request-ID`, if it sent a valid one (spec D1). */
  readonly client: string | null
  /** The `X-Request-ID` of the response. */
  readonly echoed: string
}

export function requestIds(headers: Headers, now: number): RequestIds {
  const own = makeId('req', now)
  const sent = headers.get('x-request-id')
  const client = sent !== null && VALID_ID.test(sent) ? sent : null
  return idsOf(own, client)
}

/** The ids of a request that whoever decides about it made. */
export function idsOf(own: RequestId, client: string | null): RequestIds {
  return { own, client, echoed: client ?? own }
}

export function idHeaders(ids: RequestIds): Record<string, string> {
  return { 'x-request-id': ids.echoed, 'x-gateway-request-id': ids.own }
}
