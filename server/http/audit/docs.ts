import type { EndpointDocs } from '../openapi/documented'
import { AuditPage } from './record'

const CSV = 'time_utc,entry_id,action,actor,actor_id,ip,account_id,key_id,before,after\r\n'
const LINE = '{"id":"audit_01a1fdfa942070018c603d2632ddc21d","action":"key.change","actor":"owner"}\n'

const file = (contentType: string, example: string) =>
  ({
    200: {
      description: 'The file.',
      schema: { type: 'string' },
      examples: { file: example },
      contentType,
      headers: ['Content-Disposition'],
    },
  }) as const

const COMMON = { tag: 'Activity', failures: ['invalid_parameter'] } as const

export const AUDIT_DOCS = {
  list: {
    ...COMMON,
    id: 'listAuditEntries',
    summary: 'The audit log',
    description:
      'Who changed what on your account, when, from where, and the values before and after, newest first: keys, limits, apps, webhooks, passwords, second factors, and what operators did. With a filter that matches few entries, a page may be short or empty although more follow: continue until `next_cursor` is null.',
    answers: { 200: { description: 'A page of changes.', schema: AuditPage } },
  },
  csv: {
    ...COMMON,
    id: 'auditCsv',
    summary: 'The audit log as CSV',
    description: 'Everything that matches the filter in one streamed file. The values before and after are JSON.',
    answers: file('text/csv', CSV),
  },
  lines: {
    ...COMMON,
    id: 'auditJsonLines',
    summary: 'The audit log as JSON lines',
    description: 'Everything that matches the filter in one streamed file, one JSON object a line.',
    answers: file('application/x-ndjson', LINE),
  },
} as const satisfies Record<string, EndpointDocs>
