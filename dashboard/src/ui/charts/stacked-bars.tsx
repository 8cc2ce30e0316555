import { clsx } from 'clsx'
import { useState } from 'react'
import { Bar, BarChart, CartesianGrid, Cell, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { CHART_TEXT as TEXT } from '../../messages/charts.ts'

/** One slot of time, with a value per series. */
export interface ChartSlot {
  readonly key: number
  readonly label: string
  readonly values: readonly number[]
  /** Whether it has not ended yet. */
  readonly running: boolean
}

/** Stacked bars over time. Arrow keys move through the slots of the focused chart; a table beside it has the same numbers. */
export function StackedBars({ title, slots, series, format }: StackedBarsProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const toggle = (name: string) =>
    setHidden((before) =>
      before.has(name) ? new Set([...before].filter((one) => one !== name)) : new Set([...before, name]),
    )
  return (
    <div className="grid min-w-0 gap-3">
      {/* Until it has been measured it is drawn wider than a phone: the page must not move for that. */}
      <div className="h-60 min-w-0 overflow-x-clip">
        <ResponsiveContainer width="100%" height="100%" initialDimension={{ width: 600, height: 240 }}>
          <BarChart
            data={[...slots]}
            accessibilityLayer
            title={title}
            barCategoryGap="15%"
            margin={{ top: 8, right: 0, bottom: 0, left: 0 }}
          >
            <CartesianGrid vertical={false} stroke="var(--line)" />
            <XAxis dataKey="label" minTickGap={80} tickLine={false} axisLine={{ stroke: 'var(--line)' }} tick={TICK} />
            <YAxis
              width={64}
              tickCount={4}
              tickLine={false}
              axisLine={false}
              tick={TICK}
              tickFormatter={format}
              domain={[0, 'auto']}
            />
            <Tooltip
              cursor={{ fill: 'var(--sunken)' }}
              isAnimationActive={false}
              content={({ active, label }) => {
                const slot = active ? slots.find((one) => one.label === label) : undefined
                return slot ? <SlotTip slot={slot} series={series} format={format} /> : null
              }}
            />
            {series.map((name, at) => (
              <Bar
                key={name}
                name={name}
                dataKey={(slot: ChartSlot) => slot.values[at] ?? 0}
                stackId="all"
                hide={hidden.has(name)}
                fill={seriesColor(at, name)}
                radius={1.5}
                isAnimationActive={false}
              >
                {slots.map((slot) => (
                  <Cell key={slot.key} fillOpacity={slot.running ? 0.55 : 1} />
                ))}
              </Bar>
            ))}
          </BarChart>
        </ResponsiveContainer>
      </div>
      <Legend series={series} hidden={hidden} onToggle={toggle} />
    </div>
  )
}

type StackedBarsProps = {
  title: string
  slots: readonly ChartSlot[]
  series: readonly string[]
  format: (value: number) => string
}

const TICK = { fontSize: 12, fill: 'var(--muted)' }

/** The last color is always "Other". */
function seriesColor(at: number, name: string): string {
  return `var(--series-${name === TEXT.other ? 6 : (at % 5) + 1})`
}

function SlotTip({
  slot,
  series,
  format,
}: {
  slot: ChartSlot
  series: readonly string[]
  format: (value: number) => string
}) {
  const total = slot.values.reduce((sum, value) => sum + value, 0)
  return (
    <div className="small grid gap-1 rounded-md border border-line-strong bg-surface px-3 py-2 text-text">
      <p className="font-medium">
        {slot.label}
        {slot.running && ` · ${TEXT.soFar}`}
      </p>
      {series.map((name, at) =>
        (slot.values[at] ?? 0) > 0 ? (
          <p key={name} className="flex items-center gap-2">
            <Swatch color={seriesColor(at, name)} />
            <span className="flex-1">{name}</span>
            <span>{format(slot.values[at] ?? 0)}</span>
          </p>
        ) : null,
      )}
      <p className="flex justify-between gap-4 border-t border-line pt-1">
        <span>{TEXT.total}</span>
        <span>{format(total)}</span>
      </p>
    </div>
  )
}

function Legend({ series, hidden, onToggle }: LegendProps) {
  if (series.length < 2) return null
  return (
    <ul aria-label={TEXT.legend} className="flex flex-wrap gap-x-2">
      {series.map((name, at) => (
        <li key={name}>
          <button
            type="button"
            aria-pressed={!hidden.has(name)}
            onClick={() => onToggle(name)}
            className={clsx(
              'control flex items-center gap-2 px-2 text-left hover:bg-sunken',
              hidden.has(name) && 'line-through',
            )}
          >
            <Swatch color={seriesColor(at, name)} />
            {name}
          </button>
        </li>
      ))}
    </ul>
  )
}

type LegendProps = { series: readonly string[]; hidden: ReadonlySet<string>; onToggle: (name: string) => void }

function Swatch({ color }: { color: string }) {
  return <span aria-hidden className="size-2.5 shrink-0 rounded-xs" style={{ background: color }} />
}
