import { CHART_TEXT as TEXT } from '../../messages/charts.ts'
import { lazyPart } from '../feedback/lazy-part.tsx'
import type { ChartSlot } from './stacked-bars.tsx'

const StackedBars = lazyPart(() => import('./stacked-bars.tsx').then(({ StackedBars }) => StackedBars), {
  fallback: () => <div className="h-60" />,
})

/** A chart with its time zone, and its numbers as a table. The chart code is loaded after the figures are painted. */
export function UsageChart({ title, slots, series, format, zone, leastStep = 1, onOther }: UsageChartProps) {
  const isCompared = slots.some(({ before }) => before !== undefined)
  return (
    <div className="grid min-w-0 gap-3">
      <StackedBars
        title={title}
        slots={slots}
        series={series}
        format={format}
        leastStep={leastStep}
        onOther={onOther}
      />
      <p className="small text-muted">{TEXT.zone(zone)}</p>
      <details>
        <summary className="small min-h-9 content-center text-muted">{TEXT.asTable}</summary>
        {/* A region that scrolls must be reachable by keyboard. */}
        <div
          role="region"
          aria-label={`${title}: ${TEXT.asTable}`}
          tabIndex={0}
          className="relative max-h-96 overflow-auto"
        >
          <table className="w-full text-left">
            <caption className="sr-only">{title}</caption>
            <thead className="small text-muted">
              <tr>
                {[TEXT.time, ...series, TEXT.total, ...(isCompared ? [TEXT.before] : [])].map((head, at) => (
                  <th
                    key={head}
                    scope="col"
                    className={`px-3 py-2 font-medium whitespace-nowrap ${at > 0 ? 'text-right' : ''}`}
                  >
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {slots.map(({ key, label, values, before }) => (
                <tr key={key} className="border-t border-line">
                  <th scope="row" className="px-3 py-1.5 font-normal whitespace-nowrap">
                    {label}
                  </th>
                  {values.map((value, at) => (
                    <td key={series[at]} className="px-3 py-1.5 text-right">
                      {format(value)}
                    </td>
                  ))}
                  <td className="px-3 py-1.5 text-right">{format(values.reduce((sum, value) => sum + value, 0))}</td>
                  {isCompared && <td className="px-3 py-1.5 text-right text-muted">{format(before ?? 0)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </div>
  )
}

type UsageChartProps = {
  title: string
  slots: readonly ChartSlot[]
  series: readonly string[]
  format: (value: number) => string
  zone: string
  /** The least difference between two marks of the axis: one, or for money `MONEY_STEP`. */
  leastStep?: number
  /** Shows what "Other" consists of. */
  onOther?: () => void
}

/** A tenth of a cent, in micro-USD: axes of less say nothing. */
export const MONEY_STEP = 1_000
