import { BODY_FAILURES } from '../openapi/body-failures'
import type { EndpointDocs } from '../openapi/documented'
import { LimitRequestPage, NewLimitRequest, OneLimitRequest } from './limit-request-record'

export const LIMIT_REQUEST_DOCS = {
  list: {
    id: 'listLimitRequests',
    tag: 'Account',
    summary: 'Your requests for higher limits',
    description: "Newest first, each with the operator's decision and reason.",
    answers: { 200: { description: 'A page of requests.', schema: LimitRequestPage } },
    failures: ['invalid_parameter'],
  },
  open: {
    id: 'requestLimits',
    tag: 'Account',
    summary: 'Ask for higher limits',
    description:
      'Sends a request to the operator of this gateway. An account can have one pending request at a time. An approval moves the account to Growth or gives it custom limits.',
    body: {
      description: 'The limits you need, and why.',
      schema: NewLimitRequest,
      required: true,
      examples: {
        growth: {
          peak_rpm: 2000,
          peak_tpm: 500_000,
          endpoints: ['image-search'],
          use_case: 'Our shop shows pictures for every product, and the catalog is rebuilt each night.',
        },
      },
    },
    answers: { 201: { description: 'The request, now pending.', schema: OneLimitRequest } },
    failures: [...BODY_FAILURES, 'invalid_state'],
  },
} as const satisfies Record<string, EndpointDocs>
