import { queryOptions } from '@tanstack/react-query'
import type { OperationRecord } from '../../../server/http/apis/operation-record.ts'
import type { PriceRecord } from '../../../server/http/apis/price-record.ts'
import type {
  ApiTrial,
  ApiChange as ChangeToApi,
  ApiImport as Import,
  OneApi as One,
  ImportPlan as Plan,
  ApiRecord as Record,
} from '../../../server/http/apis/record.ts'
import type { ApiReport as Report } from '../../../server/http/apis/report-record.ts'
import { api, unwrap } from './client/client.ts'

export type ApiDetails = Record & { readonly closed: One['closed'] }
export type ApiSummary = Awaited<ReturnType<typeof fetchApis>>[number]
export type ApiOperation = OperationRecord
export type ApiPrice = PriceRecord
export type ApiChange = ChangeToApi
export type ApiImport = Import
export type ImportPlan = Plan
export type ApiReport = Report['apis'][number]
export type ApiFigures = Omit<ApiReport, 'operations' | 'name' | 'upstream_payments'>
export type Trial = ApiTrial

/** All APIs that operators put on sale, also those that are off sale. */
export const apisQuery = queryOptions({ queryKey: ['operator', 'apis', 'list'], queryFn: () => fetchApis() })

export const apiQuery = (name: string) =>
  queryOptions({ queryKey: ['operator', 'apis', 'one', name], queryFn: () => fetchApi(name) })

/** Calls, revenue, cost and errors of all APIs. No event announces other accounts' calls, so it is polled while it is visible. */
export const apiReportQuery = queryOptions({
  queryKey: ['operator', 'apis', 'report'],
  queryFn: () => unwrap(api.operator['api-report'].get()),
  refetchInterval: 30_000,
})

async function fetchApis() {
  return (await unwrap(api.operator.apis.get())).apis
}

async function fetchApi(name: string) {
  const { api: details, closed } = await unwrap(api.operator.apis({ name }).get())
  return { ...details, closed }
}

/** With `dryRun`, only shows what would happen. */
export const importApi = (form: ApiImport, dryRun: boolean) =>
  unwrap(api.operator.apis.import.post({ ...form }, { query: { dry_run: dryRun } }))
/** Fetches an OpenAPI document. The gateway does it, because other sites do not let this page read theirs. */
export const fetchDocument = (url: string) => unwrap(api.operator['api-documents'].post({ url }))
export const changeApi = (name: string, change: ApiChange) => unwrap(api.operator.apis({ name }).patch({ ...change }))
/** Opens an operation to an account that it is closed to. */
export const liftClosing = (name: string, closed: Readonly<{ operation: string; account: string }>) =>
  unwrap(api.operator.apis({ name }).lift.post({ ...closed }))
export const removeApi = (name: string) => unwrap(api.operator.apis({ name }).delete())
/** Makes one real call to the upstream. Nothing is charged. */
export const tryOperation = (name: string, operation: string, input: Readonly<{ [name: string]: unknown }>) =>
  unwrap(api.operator.apis({ name }).test.post({ operation, input }))
