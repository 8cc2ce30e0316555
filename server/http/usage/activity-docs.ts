import { type EndpointDocs, fileAnswer } from '../openapi/documented'
import { USAGE_DOCS } from './docs'
import { ErrorReport, RequestPage, TransactionPage, UsageReport } from './record'

const CSV =
  'time_utc,request_id,key_name,key_last4,endpoint,status,code,tokens_in,tokens_out,cost_usd,latency_ms,model,tokens_cache_read,tokens_cache_write,usage_source,paid_by,refunded_usd\r\n' +
  '2026-11-21T08:56:28.490Z,req_01a1fdfa942070008c603d2632ddc21a,My first key,UYRQ,image-search,200,,0,0,0.005,12,,0,0,,key,0\r\n'

export const ACTIVITY_DOCS = {
  usage: {
    id: 'accountUsage',
    tag: 'Activity',
    summary: 'Usage of the account',
    description:
      'The same report as `/v1/usage`, across all keys. Filters narrow it; `group_by` adds totals per key, operation, status or model.',
    answers: { 200: { description: 'The report.', schema: UsageReport } },
    failures: ['invalid_parameter'],
  },
  requests: {
    id: 'listRequests',
    tag: 'Activity',
    summary: 'The request log',
    description:
      'All calls of your keys, newest first, including refused ones. Response bodies are not stored. With a filter that matches few calls, a page may be short or empty although more follow: continue until `next_cursor` is null.',
    answers: { 200: { description: 'A page of calls.', schema: RequestPage } },
    failures: ['invalid_parameter'],
  },
  request: {
    ...USAGE_DOCS.explained,
    id: 'explainRequest',
    tag: 'Activity',
    description:
      "What a request of any of your keys cost and how the charge was calculated, where its time went, and why it failed. Accepts the gateway's request id or the `X-Request-ID` sent with the request; if several requests share that id, returns the newest.",
    failures: ['resource_not_found'],
  },
  errors: {
    id: 'errorReport',
    tag: 'Activity',
    summary: 'Why calls failed',
    description:
      'Failed calls by operation, status and error code, with the newest of each. Takes the filters of the request log.',
    answers: { 200: { description: 'The report.', schema: ErrorReport } },
    failures: ['invalid_parameter'],
  },
  transactions: {
    id: 'listTransactions',
    tag: 'Activity',
    summary: 'Transactions',
    description:
      'Credits and charges, newest first, each with the balance after it. With `group_by=day`, the charges of a day are one row between two other transactions; a page may then be short although more follow.',
    answers: { 200: { description: 'A page of transactions.', schema: TransactionPage } },
    failures: ['invalid_parameter'],
  },
  csv: {
    id: 'usageCsv',
    tag: 'Activity',
    summary: 'The request log as CSV',
    description: 'Everything that matches the filter in one streamed file. Times are in UTC, costs in US dollars.',
    answers: { 200: fileAnswer('text/csv', CSV) },
    failures: ['invalid_parameter'],
  },
} as const satisfies Record<string, EndpointDocs>
