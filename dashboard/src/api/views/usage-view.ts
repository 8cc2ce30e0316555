import type { UsageFilter } from '../usage.ts'
import { addressText } from './address-text.ts'
import { customSpan, type RangeName, spanOf, stepsOf, type UsageSpan } from './usage-range.ts'

/** The state of the usage page, stored in the URL so that links show the same. */
export interface UsageView {
  readonly range: RangeName | 'custom'
  readonly group: (typeof GROUPS)[number]
  readonly measure: (typeof MEASURES)[number]
  readonly tab: (typeof TABS)[number]
  /** The width of a bar, where the period allows another than its own. */
  readonly step?: UsageSpan['width'] | undefined
  /** Whether the chart shows the period before as well. */
  readonly compare?: true | undefined
  readonly key?: string | undefined
  readonly tag?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
  readonly model?: string | undefined
  /** The text that the request log is searched for. */
  readonly search?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const RANGES = ['1h', '24h', 'today', 'yesterday', '7d', '30d', 'month', 'last_month', '90d', 'custom'] as const
export const GROUPS = ['key', 'tag', 'operation', 'status', 'model', 'scope'] as const
export const MEASURES = ['spend', 'requests', 'errors', 'tokens', 'input', 'output', 'cached'] as const
export const TABS = ['chart', 'models', 'latency', 'errors', 'requests'] as const

const STEPS = ['1m', '1h', '1d'] as const

const DAY = /^\d{4}-\d{2}-\d{2}$/
const MAX_DAYS = 366
/** As many characters as the server takes. */
const MAX_SEARCH = 256
const DAY_SECONDS = 86_400

/** Parses the state from the URL. Unknown values are dropped. */
export function usageView(search: Record<string, unknown>): UsageView {
  const text = (name: string) => addressText(search[name], 128)
  const day = (name: string) => (DAY.test(text(name) ?? '') ? text(name) : undefined)
  const status = Number(search['status'])
  return {
    range: RANGES.find((value) => value === search['range']) ?? '7d',
    group: GROUPS.find((value) => value === search['group']) ?? 'key',
    measure: MEASURES.find((value) => value === search['measure']) ?? 'spend',
    tab: TABS.find((value) => value === search['tab']) ?? 'chart',
    step: STEPS.find((value) => value === search['step']),
    compare: search['compare'] === true || search['compare'] === 'true' ? true : undefined,
    key: text('key'),
    tag: text('tag'),
    operation: text('operation'),
    model: text('model'),
    search: addressText(search['search'], MAX_SEARCH),
    status: Number.isInteger(status) && status >= 100 && status <= 599 ? status : undefined,
    from: day('from'),
    to: day('to'),
  }
}

/** The period of a view; null if its custom dates are invalid. */
export function viewSpan(view: UsageView, nowMs: number): UsageSpan | null {
  const span = periodOf(view, nowMs)
  const step = span && stepsOf(span).find((width) => width === view.step)
  return span && step ? { ...span, width: step } : span
}

function periodOf({ range, from, to }: UsageView, nowMs: number): UsageSpan | null {
  if (range !== 'custom') return spanOf(range, nowMs)
  if (from === undefined || to === undefined) return null
  const span = customSpan(from, to)
  return span.end > span.start && span.end - span.start <= MAX_DAYS * DAY_SECONDS ? span : null
}

export function viewFilter({ key, tag, operation, status, model }: UsageView): UsageFilter {
  return { key, tag, operation, status, model }
}

/** Removes all filters and nothing else. */
export const NO_FILTER = {
  key: undefined,
  tag: undefined,
  operation: undefined,
  status: undefined,
  model: undefined,
} as const

export function isFiltered(view: UsageView): boolean {
  return Object.values(viewFilter(view)).some((value) => value !== undefined)
}
