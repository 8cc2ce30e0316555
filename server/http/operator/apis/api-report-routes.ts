import { invalidParameter } from '../../../core/accounts/submitted'
import { MAX_DOCUMENT_BYTES } from '../../../core/apis/document-size'
import { type Failure, wrongParameters } from '../../../core/failure'
import type { OutboundFetch, OutboundProblemKind } from '../../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../../core/result'
import { type FetchedDocument, NewDocumentFetch } from '../../apis/report-record'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { routeGroup } from '../../middleware/request-context'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { command, operatorRoles } from '../operator-roles'
import { type ApiReportNeeds, readApiReport } from './api-report'

const FETCH_MS = 20_000

export interface ApiReportParts extends ApiReportNeeds {
  readonly owners: OwnerSessions
  /** Fetches what operators point at: public addresses, and private ones that the environment allows. */
  readonly fetchDocument: OutboundFetch
}

/** For the operator's page about APIs: what they brought in, and documents that the browser cannot fetch itself. */
export function operatorApiReportRoutes({ owners, fetchDocument, ...needs }: ApiReportParts) {
  const { operator } = operatorRoles(owners)
  return routeGroup({ name: 'operator-api-report', prefix: '/api/operator' })
    .get('/api-report', ...allowed(operator(), UNDOCUMENTED, () => readApiReport(needs)))
    .post('/api-documents', ...command(operator(), NewDocumentFetch, (_actor, { url }) => fetched(fetchDocument, url)))
}

async function fetched(fetchDocument: OutboundFetch, url: string): Promise<Result<FetchedDocument, Failure>> {
  const refused = (rule: string) => err(wrongParameters([invalidParameter('url', rule, '')]))
  const answer = await fetchDocument({ url, timeoutMs: FETCH_MS, maxBytes: MAX_DOCUMENT_BYTES, maxRedirects: 3 })
  if (!answer.ok) return refused(`could not be fetched: ${PROBLEMS[answer.error.kind]}`)
  const { status, body } = answer.value
  if (status !== 200) return refused(`answered with status ${status} instead of a document`)
  return ok({ document: new TextDecoder().decode(body) })
}

const PROBLEMS: Readonly<Record<OutboundProblemKind, string>> = {
  bad_url: 'it must be an http or https URL',
  not_allowed: 'it is not allowed',
  forbidden_address: 'its host has no public address',
  unreachable: 'its host cannot be reached',
  timeout: 'it took too long',
  aborted: 'the request was aborted',
  too_large: 'it is larger than 20 MB',
  too_many_redirects: 'it redirects too often',
  wrong_type: 'it is no document',
  bad_encoding: 'its encoding is invalid',
  cut: 'the answer broke off',
}
