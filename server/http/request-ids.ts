import { makeId, type RequestId } from '../core/ids'

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
  const client = sent !== null && /^[A-Za-z0-9._:-]{1,128}$/.test(sent) ? sent : null
  return { own, client, echoed: client ?? own }
}
