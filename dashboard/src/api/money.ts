import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { BookStatement } from '../../../server/http/operator/money/books-record.ts'
import type { Reconciled, Reconciliations } from '../../../server/http/operator/money/reconcile-record.ts'
import type { Revenue } from '../../../server/http/operator/money/revenue-record.ts'
import { api, unwrap } from './client/client.ts'

export type RevenueReport = Revenue
export type RevenueRow = Revenue['rows'][number]
export type RevenueGrouping = Revenue['group_by']
export type Statement = BookStatement
export type Reconciliation = Reconciled
export type ReconciliationRun = Reconciliations['runs'][number]
export type UnknownPage = Reconciliations['unknown_pages'][number]

export interface RevenueAsked {
  /** UTC days. */
  readonly from: string
  readonly to: string
  readonly group_by: RevenueGrouping
}

export const revenueQuery = (asked: RevenueAsked) =>
  queryOptions({
    queryKey: ['operator', 'revenue', asked],
    queryFn: () => unwrap(api.operator.revenue.get({ query: { ...asked } })),
    placeholderData: keepPreviousData,
  })

export const revenueCsv = (asked: RevenueAsked) => `/api/operator/revenue.csv?${new URLSearchParams({ ...asked })}`

export const statementQuery = (month: string) =>
  queryOptions({
    queryKey: ['operator', 'statement', month],
    queryFn: () => unwrap(api.operator.statement.get({ query: { month } })),
    placeholderData: keepPreviousData,
  })

export const booksCsv = (month: string) => `/api/operator/books.csv?month=${month}`
export const entriesCsv = (month: string) => `${booksCsv(month)}&entries=true`
export const statementCsv = (month: string) => `/api/operator/statement.csv?month=${month}`

export const reconciliationsQuery = queryOptions({
  queryKey: ['operator', 'reconciliations'],
  queryFn: () => unwrap(api.operator.reconciliations.get()),
})

/** Whether this data was restored from a copy, and whether an operator looked at it since. */
export const restoreQuery = queryOptions({
  queryKey: ['operator', 'after-restore'],
  queryFn: () => unwrap(api.operator['after-restore'].get()),
})

export const reconcile = (apply: boolean) => unwrap(api.operator.reconcile.post({ apply }))
