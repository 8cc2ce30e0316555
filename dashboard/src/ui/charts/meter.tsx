import { clsx } from 'clsx'

/** A usage bar: a warning from 80 %, bad when full. The same information must be in its text. */
export function Meter({ label, used, max, text }: MeterProps) {
  const share = max > 0 ? Math.min(100, Math.max(0, (used / max) * 100)) : 100
  const fill = share >= 100 ? 'bg-bad' : share >= 80 ? 'bg-warn' : 'bg-accent'
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share)}
      aria-valuetext={text}
      className="h-1.5 w-full min-w-16 overflow-hidden rounded-full bg-sunken"
    >
      <div className={clsx('h-full rounded-full', fill)} style={{ width: `${share}%` }} />
    </div>
  )
}

type MeterProps = { label: string; used: number; max: number; text: string }

/** A usage bar below its text. */
export function LabeledMeter(meter: MeterProps) {
  return (
    <div className="grid min-w-32 gap-1">
      <span className="leading-tight whitespace-nowrap max-md:whitespace-normal">{meter.text}</span>
      <Meter {...meter} />
    </div>
  )
}
