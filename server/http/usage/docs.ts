import { KEY_FAILURES } from '../keys/key-failures'
import type { EndpointDocs } from '../openapi/documented'
import { CreditsBalance, ExplainedRequest, UsageReport, Whoami } from './record'

const NO_TOKENS = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }

const CALL_EXAMPLE = {
  id: 'req_01a1fdfa942070008c603d2632ddc21a',
  client_request_id: null,
  at: '2026-11-21T08:56:28.490Z',
  key_id: 'key_01a1fdfa942070018c603d2632ddc21b',
  operation: 'image-search',
  model: null,
  status: 200,
  code: null,
  ...NO_TOKENS,
  usage_source: null,
  cost_micros_usd: 5000,
  latency_ms: 12,
  ip: '203.0.113.7',
  repeats: 0,
}

const CHARGE_EXAMPLE = {
  currency: 'USD',
  price_version: '2.0.0',
  inputs: {
    unit: 'request',
    units: 1,
    unit_price_micros_usd: 5000,
    lines: [{ item: 'request', units: 1, unit_price_micros_usd: 5000, per: 1 }],
  },
  arithmetic: '1 request x 0.005 USD = 0.005 USD',
  charged_micros_usd: 5000,
}

export const USAGE_DOCS = {
  report: {
    id: 'usage',
    tag: 'Usage',
    summary: 'Usage of this key',
    description:
      'Requests, tokens and charges over time. Without times, it covers the last 30 days, or the last day for hourly buckets. At most 366 days in daily buckets, or 31 days in hourly buckets. `scope=account` needs an OAuth access token: a key can only read its own usage.',
    answers: { 200: { description: 'The report.', schema: UsageReport } },
    failures: ['invalid_parameter', 'insufficient_permissions', ...KEY_FAILURES],
  },
  explained: {
    id: 'usageOfRequest',
    tag: 'Usage',
    summary: 'One request explained',
    description:
      "What a request cost and how the charge was calculated, where its time went, and why it failed. Accepts the gateway's request id or the `X-Request-ID` you sent; if several requests share that id, returns the newest.",
    ids: {
      id: {
        description: 'X-Gateway-Request-ID of the request, or the X-Request-ID you sent with it.',
        example: CALL_EXAMPLE.id,
      },
    },
    answers: {
      200: {
        description: 'The request.',
        schema: ExplainedRequest,
        examples: {
          charged: {
            ...CALL_EXAMPLE,
            provider: 'brave',
            times: { waiting_ms: 1, upstream_ms: 10, total_ms: 12 },
            failure: null,
            held_micros_usd: CALL_EXAMPLE.cost_micros_usd,
            refunded_micros_usd: 0,
            charge: CHARGE_EXAMPLE,
          },
          failed: {
            ...CALL_EXAMPLE,
            status: 400,
            code: 'invalid_parameter',
            cost_micros_usd: 0,
            latency_ms: 1,
            provider: null,
            times: { waiting_ms: null, upstream_ms: null, total_ms: 1 },
            failure: {
              route: '/apis/v1/websearch/images/search',
              message: 'count must be an integer from 1 to 200',
              param: 'count',
              rule: 'must be an integer from 1 to 200',
            },
            held_micros_usd: null,
            refunded_micros_usd: 0,
            charge: null,
          },
        },
      },
    },
    failures: ['resource_not_found', ...KEY_FAILURES],
  },
  balance: {
    id: 'creditsBalance',
    tag: 'Usage',
    summary: 'Remaining balance',
    description: "The account's balance and what is left of the key's spending limit. The lower of the two applies.",
    answers: { 200: { description: 'The balance.', schema: CreditsBalance } },
    failures: KEY_FAILURES,
  },
  whoami: {
    id: 'whoami',
    tag: 'Usage',
    summary: 'Identify the caller',
    description: 'The account that calls with this key or access token are charged to, and what the credential may do.',
    answers: { 200: { description: 'The account and the credential.', schema: Whoami } },
    failures: KEY_FAILURES,
  },
} as const satisfies Record<string, EndpointDocs>
