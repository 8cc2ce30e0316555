import type { Identity } from '../../core/accounts/identity'
import type { AuditEntry, AuditFilter, AuditTrail } from '../../core/audit'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import type { AccountId, KeyId } from '../../core/ids'
import type { Page } from '../../core/page'
import { actorEmails } from '../middleware/caller/actor-email'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { INSTANT, instantOf } from '../middleware/input/instant-parameter'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { csvFile, jsonLinesFile, paced } from '../middleware/response/csv'
import { documented, type EndpointDocs, fileAnswer, UNDOCUMENTED } from '../openapi/documented'
import { type ApiAccess, allowed, signedIn } from '../routing/api-access'
import { costing, EXPORT, page } from '../routing/cost'
import {
  ACTORS,
  AUDIT_CSV_HEAD,
  AuditPage,
  auditCsvLine,
  operatorsEntry,
  ownersEntry,
  type SignedEntry,
} from './record'

const CSV = 'time_utc,entry_id,action,actor,actor_id,ip,account_id,key_id,before,after,actor_email\r\n'
const LINE = '{"id":"audit_01a1fdfa942070018c603d2632ddc21d","action":"key.change","actor":"owner"}\n'

const COMMON = { tag: 'Activity', failures: ['invalid_parameter'] } as const

const AUDIT_DOCS = {
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
    answers: { 200: fileAnswer('text/csv', CSV) },
  },
  lines: {
    ...COMMON,
    id: 'auditJsonLines',
    summary: 'The audit log as JSON lines',
    description: 'Everything that matches the filter in one streamed file, one JSON object a line.',
    answers: { 200: fileAnswer('application/x-ndjson', LINE) },
  },
} as const satisfies Record<string, EndpointDocs>

interface Authors {
  readonly audit: AuditTrail
  readonly identity: Pick<Identity, 'user'>
}

/** Entries per query of a file. */
const FILE_PAGE = 2_000

/** The changes to an owner's account, with their authors (spec D11). */
export function auditRoutes({ owners, ...parts }: Authors & { readonly owners: OwnerSessions }) {
  return routeGroup({ name: 'audit', prefix: '/api' })
    .get(
      '/audit',
      ...allowed(
        signedIn(owners, 'audit:read'),
        costing(page, documented(AUDIT_DOCS.list, AUDIT_QUERY)),
        async ({ accountId, context }): Promise<AuditPage> => {
          const query = queryOf(AUDIT_QUERY, context)
          const page = await auditPage(parts, auditFilterOf(accountId, query), query)
          return { entries: page.rows.map(ownersEntry), next_cursor: page.next }
        },
      ),
    )
    .get(
      '/audit.csv',
      ...allowed(
        signedIn(owners, 'audit:read'),
        costing(EXPORT, documented(AUDIT_DOCS.csv, AUDIT_FILTER)),
        ({ accountId, context }) => {
          const filter = auditFilterOf(accountId, queryOf(AUDIT_FILTER, context))
          return csvFile(context, 'audit.csv', AUDIT_CSV_HEAD, pagesOf(parts, filter, context), (entry) =>
            auditCsvLine(ownersEntry(entry)),
          )
        },
      ),
    )
    .get(
      '/audit.jsonl',
      ...allowed(
        signedIn(owners, 'audit:read'),
        costing(EXPORT, documented(AUDIT_DOCS.lines, AUDIT_FILTER)),
        ({ accountId, context }) => {
          const filter = auditFilterOf(accountId, queryOf(AUDIT_FILTER, context))
          return jsonLinesFile(context, 'audit.jsonl', pagesOf(parts, filter, context), ownersEntry)
        },
      ),
    )
}

/** The same for operators: of the whole gateway, or of one account. `operator` refuses everybody else. */
export function operatorAuditRoutes({ operator, ...parts }: Authors & { readonly operator: () => ApiAccess }) {
  return routeGroup({ name: 'operator-audit', prefix: '/api/operator' })
    .get(
      '/audit',
      ...allowed(operator(), costing(page, UNDOCUMENTED), async ({ context }): Promise<AuditPage> => {
        const query = queryOf(OPERATOR_AUDIT_QUERY, context)
        const page = await auditPage(parts, auditFilterOf(accountIn(query), query), query)
        return { entries: page.rows.map(operatorsEntry), next_cursor: page.next }
      }),
    )
    .get(
      '/audit.csv',
      ...allowed(operator(), costing(EXPORT, UNDOCUMENTED), ({ context }) => {
        const query = queryOf(OPERATOR_AUDIT_FILTER, context)
        const pages = pagesOf(parts, auditFilterOf(accountIn(query), query), context)
        return csvFile(context, 'audit.csv', AUDIT_CSV_HEAD, pages, (entry) => auditCsvLine(operatorsEntry(entry)))
      }),
    )
    .get(
      '/audit.jsonl',
      ...allowed(operator(), costing(EXPORT, UNDOCUMENTED), ({ context }) => {
        const query = queryOf(OPERATOR_AUDIT_FILTER, context)
        return jsonLinesFile(
          context,
          'audit.jsonl',
          pagesOf(parts, auditFilterOf(accountIn(query), query), context),
          operatorsEntry,
        )
      }),
    )
}

/** Any text: an id that does not exist matches nothing. */
function accountIn({ account }: { readonly account?: string }): AccountId | null {
  return (account ?? null) as AccountId | null
}

async function auditPage(
  parts: Authors,
  filter: AuditFilter,
  { limit, cursor = null }: { readonly limit: number; readonly cursor?: string | null },
): Promise<Page<SignedEntry>> {
  const page = await signedPages(parts, filter, limit)(cursor)
  if (!page) throw refuseCursor(cursor ?? '')
  return page
}

function pagesOf(parts: Authors, filter: AuditFilter, context: RequestContext) {
  return paced(context, signedPages(parts, filter, FILE_PAGE))
}

/** Pages with the addresses of the people who acted. */
function signedPages({ audit, identity }: Authors, filter: AuditFilter, limit: number) {
  const emailOf = actorEmails(identity)
  return async (cursor: string | null): Promise<Page<SignedEntry> | null> => {
    const page = await audit.find(filter, limit, cursor)
    const signed = (entry: AuditEntry) => emailOf(entry.actor).then((email) => ({ ...entry, email }))
    return page && { rows: await Promise.all(page.rows.map(signed)), next: page.next }
  }
}

const AUDIT_FILTER = {
  action: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 64,
    description: 'Only this action (`key.create`), or all that begin with a word (`key`).',
    example: 'key',
  },
  actor: { in: 'query', kind: 'enum', values: ACTORS, description: 'Only what these did.' },
  key: { in: 'query', kind: 'text', min: 1, max: 64, description: 'Only changes of this key.' },
  from: { ...INSTANT, description: 'Only changes at or after this time.', example: '2026-11-01T00:00:00Z' },
  to: { ...INSTANT, description: 'Only changes before this time.', example: '2030-01-01T00:00:00Z' },
} as const satisfies ParameterTable

const AUDIT_QUERY = { ...AUDIT_FILTER, ...PAGE_QUERY } as const satisfies ParameterTable

/** For operators, who may read the whole gateway or one account. */
const OPERATOR_AUDIT_FILTER = {
  ...AUDIT_FILTER,
  account: { in: 'query', kind: 'text', min: 1, max: 64, description: 'Only changes that concern this account.' },
} as const satisfies ParameterTable

const OPERATOR_AUDIT_QUERY = { ...OPERATOR_AUDIT_FILTER, ...PAGE_QUERY } as const satisfies ParameterTable

function auditFilterOf(accountId: AccountId | null, query: Parameters<typeof AUDIT_FILTER>): AuditFilter {
  return {
    accountId,
    keyId: (query.key ?? null) as KeyId | null, // any text: an id that does not exist matches nothing
    actorKind: query.actor ?? null,
    action: query.action ?? null,
    from: instantOf(query.from),
    to: instantOf(query.to),
  }
}
