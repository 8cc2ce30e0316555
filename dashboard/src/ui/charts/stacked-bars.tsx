import { clsx } from 'clsx'
import { useId, useMemo, useState } from 'react'
import { Bar, CartesianGrid, Cell, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { CHART_TEXT as TEXT } from '../../messages/charts.ts'
import { axisMarks } from './axis.ts'
import { seriesColors } from './series-colors.ts'

/** One slot of time, with a value per series. */
export interface ChartSlot {
  readonly key: number
  readonly label: string
  readonly values: readonly number[]
  /** The total of the same slot of the period before, to compare with. */
  readonly before?: number
  /** Whether it has not ended yet. */
  readonly running: boolean
}

/** Stacked bars over time. Arrow keys move through the slots of the focused chart; a table has the same numbers. */
export function StackedBars({ title, slots, series, format, leastStep, onOther }: StackedBarsProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const toggle = (name: string) =>
    setHidden((before) =>
      before.has(name) ? new Set([...before].filter((one) => one !== name)) : new Set([...before, name]),
    )
  const colors = useMemo(
    () => seriesColors(series.map((name) => (name === TEXT.other ? null : name))),
    [series.join('\n')],
  )
  const isCompared = slots.some(({ before }) => before !== undefined)
  const sums = slots.map(({ values, before = 0 }) =>
    Math.max(
      before,
      values.reduce((sum, value, at) => (hidden.has(series[at] ?? '') ? sum : sum + value), 0),
    ),
  )
  const marks = axisMarks(Math.max(0, ...sums), leastStep)
  // To draw it takes tens of milliseconds: not again for the same numbers, whenever the page around it changes.
  const drawn = JSON.stringify([title, slots, series, [...hidden], marks.map(format)])
  const plot = useMemo(() => <Plot {...{ title, slots, series, hidden, colors, marks, isCompared, format }} />, [drawn])
  return (
    <div className="grid min-w-0 gap-3">
      {plot}
      <Legend series={series} colors={colors} hidden={hidden} onToggle={toggle} onOther={onOther} />
      {isCompared && <p className="small text-muted">{TEXT.beforeLine}</p>}
    </div>
  )
}

/** The bars themselves. Until they have been measured they are wider than a phone: the page must not move for that. */
function Plot({ title, slots, series, hidden, colors, marks, isCompared, format }: PlotProps) {
  const hatch = useId()
  return (
    <div className="h-60 min-w-0 overflow-x-clip">
      <ResponsiveContainer width="100%" height="100%" initialDimension={{ width: 600, height: 240 }}>
        <ComposedChart
          data={[...slots]}
          accessibilityLayer
          title={title}
          barCategoryGap="15%"
          margin={{ top: 8, right: 0, bottom: 0, left: 0 }}
        >
          <defs>
            {series.map((name, at) => (
              <Hatch key={name} id={`${hatch}-${at}`} color={colors[at]} />
            ))}
          </defs>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="label" minTickGap={80} tickLine={false} axisLine={{ stroke: 'var(--line)' }} tick={TICK} />
          <YAxis
            width={64}
            ticks={marks}
            tickLine={false}
            axisLine={false}
            tick={TICK}
            tickFormatter={format}
            domain={[0, marks.at(-1) ?? 0]}
          />
          <Tooltip
            cursor={{ fill: 'var(--sunken)' }}
            isAnimationActive={false}
            content={({ active, label }) => {
              const slot = active ? slots.find((one) => one.label === label) : undefined
              return slot ? <SlotTip slot={slot} series={series} colors={colors} format={format} /> : null
            }}
          />
          {series.map((name, at) => (
            <Bar
              key={name}
              name={name}
              dataKey={(slot: ChartSlot) => slot.values[at] ?? 0}
              stackId="all"
              hide={hidden.has(name)}
              fill={colors[at]}
              radius={1.5}
              isAnimationActive={false}
            >
              {slots.map((slot) => (
                <Cell key={slot.key} fill={slot.running ? `url(#${hatch}-${at})` : (colors[at] ?? '')} />
              ))}
            </Bar>
          ))}
          {isCompared && (
            <Line
              name={TEXT.before}
              dataKey={(slot: ChartSlot) => slot.before ?? 0}
              stroke="var(--muted)"
              strokeDasharray="4 3"
              dot={false}
              activeDot={false}
              isAnimationActive={false}
            />
          )}
        </ComposedChart>
      </ResponsiveContainer>
    </div>
  )
}

/** The color of a series in a slot that is not over. */
function Hatch({ id, color }: { id: string; color: string | undefined }) {
  return (
    <pattern id={id} width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={6} height={6} fill={color} />
      <rect width={1.5} height={6} fill="var(--surface)" fillOpacity={0.55} />
    </pattern>
  )
}

type PlotProps = Pick<StackedBarsProps, 'title' | 'slots' | 'series' | 'format'> & {
  hidden: ReadonlySet<string>
  colors: readonly string[]
  /** Of the axis. */
  marks: readonly number[]
  isCompared: boolean
}

type StackedBarsProps = {
  title: string
  slots: readonly ChartSlot[]
  series: readonly string[]
  format: (value: number) => string
  /** The least difference between two marks of the axis. */
  leastStep: number
  /** Shows what "Other" consists of. */
  onOther?: (() => void) | undefined
}

const TICK = { fontSize: 12, fill: 'var(--muted)' }

function SlotTip({ slot, series, colors, format }: SlotTipProps) {
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
            <Swatch color={colors[at] ?? ''} />
            <span className="max-w-48 flex-1 truncate">{name}</span>
            <span>{format(slot.values[at] ?? 0)}</span>
          </p>
        ) : null,
      )}
      <p className="flex justify-between gap-4 border-t border-line pt-1">
        <span>{TEXT.total}</span>
        <span>{format(total)}</span>
      </p>
      {slot.before !== undefined && (
        <p className="flex justify-between gap-4 text-muted">
          <span>{TEXT.before}</span>
          <span>{format(slot.before)}</span>
        </p>
      )}
    </div>
  )
}

type SlotTipProps = { slot: ChartSlot; colors: readonly string[] } & Pick<StackedBarsProps, 'series' | 'format'>

function Legend({ series, colors, hidden, onToggle, onOther }: LegendProps) {
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
              'control flex max-w-56 items-center gap-2 px-2 text-left hover:bg-sunken',
              hidden.has(name) && 'line-through',
            )}
          >
            <Swatch color={colors[at] ?? ''} />
            <span className="truncate" title={name}>
              {name}
            </span>
          </button>
        </li>
      ))}
      {onOther && series.includes(TEXT.other) && (
        <li>
          <button type="button" onClick={onOther} className="control px-2 text-accent hover:underline">
            {TEXT.openOther}
          </button>
        </li>
      )}
    </ul>
  )
}

type LegendProps = {
  colors: readonly string[]
  hidden: ReadonlySet<string>
  onToggle: (name: string) => void
} & Pick<StackedBarsProps, 'series' | 'onOther'>

function Swatch({ color }: { color: string }) {
  return <span aria-hidden className="size-2.5 shrink-0 rounded-xs" style={{ background: color }} />
}
