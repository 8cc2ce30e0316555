import type { UsageFilter } from './usage.ts'
import { customSpan, type RangeName, spanOf, type UsageSpan } from './usage-range.ts'

/** What of usage is shown; it stands in the address of the page, so that a link shows the same. */
export interface UsageView {
  readonly range: RangeName | 'custom'
  readonly group: 'key' | 'operation' | 'status'
  readonly measure: 'spend' | 'requests' | 'errors' | 'tokens'
  readonly tab: 'chart' | 'requests'
  readonly key?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const RANGES = ['24h', '7d', '30d', '90d', 'custom'] as const
export const GROUPS = ['key', 'operation', 'status'] as const
export const MEASURES = ['spend', 'requests', 'errors', 'tokens'] as const

const DAY = /^\d{4}-\d{2}-\d{2}$/
const MOST_DAYS = 366
const DAY_SECONDS = 86_400

/** Out of the address of the page; what is none of ours is left out. */
export function usageView(search: Record<string, unknown>): UsageView {
  const text = (name: string) => (typeof search[name] === 'string' ? search[name].slice(0, 64) || undefined : undefined)
  const day = (name: string) => (DAY.test(text(name) ?? '') ? text(name) : undefined)
  const status = Number(search['status'])
  return {
    range: RANGES.find((value) => value === search['range']) ?? '7d',
    group: GROUPS.find((value) => value === search['group']) ?? 'key',
    measure: MEASURES.find((value) => value === search['measure']) ?? 'spend',
    tab: search['tab'] === 'requests' ? 'requests' : 'chart',
    key: text('key'),
    operation: text('operation'),
    status: Number.isInteger(status) && status >= 100 && status <= 599 ? status : undefined,
    from: day('from'),
    to: day('to'),
  }
}

/** The span of a view, or null when its own dates are none. */
export function viewSpan({ range, from, to }: UsageView, nowMs: number): UsageSpan | null {
  if (range !== 'custom') return spanOf(range, nowMs)
  if (from === undefined || to === undefined) return null
  const span = customSpan(from, to)
  return span.end > span.start && span.end - span.start <= MOST_DAYS * DAY_SECONDS ? span : null
}

export function viewFilter({ key, operation, status }: UsageView): UsageFilter {
  return { key, operation, status }
}
