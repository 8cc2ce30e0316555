import { instant, type JsonSchema, listOf, oneOf, orNull, record, ref, text, whole } from '../openapi/json-schema'

const MOST = { minimum: 1, maximum: 1_000_000_000 }

const wish = {
  peak_rpm: whole('Requests per minute at your peak.', MOST),
  peak_tpm: whole('Tokens per minute at your peak.', MOST),
  endpoints: {
    ...listOf(text('A name.', { pattern: '^[\\w/.:-]{1,64}$' }), 'The endpoints concerned.'),
    minItems: 1,
    maxItems: 50,
  },
  use_case: text('What you need it for.', { minLength: 20, maxLength: 2000 }),
}

/** Requests for higher limits (core/accounts/limit-request.ts judges them). */
export const LIMIT_REQUEST_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  LimitRequestForm: {
    type: 'object',
    description: 'At least one of the two peaks is above what the account has.',
    properties: wish,
    required: Object.keys(wish),
    additionalProperties: false,
  },
  LimitRequest: record('A request for higher limits.', {
    id: text('Id of the request.'),
    workspace_id: text('Id of the account that it is for.'),
    status: oneOf(['pending', 'approved', 'declined'], 'What became of it.'),
    ...wish,
    reason: orNull(text('What the operator said to it.')),
    created_at: instant('Sent at.'),
    decided_at: orNull(instant('Decided at; null while it waits.')),
  }),
  LimitRequestPage: record('A page of requests, newest first.', {
    requests: listOf(ref('LimitRequest'), 'The requests.'),
    next_cursor: orNull(text('Ask for the next page with it as `cursor`; null on the last page.')),
  }),
}
