import { invalidParameter } from '../../../core/accounts/submitted'
import { apiReports, type ReadOperationUsage } from '../../../core/apis/api-report'
import type { ApiRegistry } from '../../../core/apis/api-store'
import { MAX_DOCUMENT_BYTES } from '../../../core/apis/document-size'
import type { UpstreamPayments, UpstreamWallet } from '../../../core/apis/payments/upstream-payment'
import { DAY_MS } from '../../../core/clock'
import { type Failure, wrongParameters } from '../../../core/failure'
import type { OutboundFetch, OutboundProblemKind } from '../../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../../core/result'
import { type ApiReport, apiReportRecord, type FetchedDocument, NewDocumentFetch } from '../../apis/report-record'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { routeGroup } from '../../middleware/request-context'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { command, operatorRoles } from '../operator-roles'

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

const DAYS = 30

interface ApiReportNeeds {
  readonly apis: ApiRegistry
  readonly operationUsage: ReadOperationUsage
  /** Pays upstreams per request; null without a wallet. */
  readonly paying: { readonly wallet: UpstreamWallet; readonly payments: UpstreamPayments } | null
  readonly now: () => number
}

/** The revenue of the APIs over the last days, and the wallet's signatures, for the operator. */
async function readApiReport({ apis, operationUsage, paying, now }: ApiReportNeeds): Promise<ApiReport> {
  const from = now() - DAYS * DAY_MS
  const [usage, paid, signed] = await Promise.all([
    operationUsage(from, now() - DAY_MS),
    paying?.payments.sums(from) ?? [],
    paying?.payments.counted(now()),
  ])
  const wallet = paying && {
    address: paying.wallet.address,
    signed_micros_usd: signed ?? 0,
    daily_maximum_micros_usd: paying.wallet.maxima.inAll,
  }
  return { days: DAYS, wallet, apis: apiReports(apis.routes.apis, usage, paid).map(apiReportRecord) }
}
