import { clsx } from 'clsx'
import { type ReactNode, useId } from 'react'

const LOOK = 'grid min-w-0 grid-cols-1 content-start rounded-xl border border-line bg-surface'

/** A section of a page with a heading. */
export function Card({ title, aside, flush = false, children }: CardProps) {
  const heading = useId()
  return (
    <section aria-labelledby={heading} className={LOOK}>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-4 sm:px-6 sm:pt-5">
        <h2 id={heading}>{title}</h2>
        {aside}
      </div>
      <div className={clsx('min-w-0', flush ? 'pt-3' : 'grid gap-4 p-4 pt-3 sm:p-6 sm:pt-4')}>{children}</div>
    </section>
  )
}

type CardProps = {
  title: ReactNode
  /** Shown to the right of the heading. */
  aside?: ReactNode
  /** Whether the content extends to the edges, such as a table. */
  flush?: boolean
  children: ReactNode
}

/** The card of the only list of a page, which needs no heading of its own. */
export function BareCard({ children }: { children: ReactNode }) {
  return (
    <div data-bare className={LOOK}>
      {children}
    </div>
  )
}

/** A named figure with a note below. */
export function Figure({ label, value, title, children }: FigureProps) {
  return (
    <div className="@container grid min-w-0 max-lg:odd:last:col-span-2 content-start gap-1 rounded-xl border border-line bg-surface p-4 sm:px-6 sm:py-5">
      <dt className="small text-muted">{label}</dt>
      <dd
        className="min-h-[2.125rem] content-center leading-tight font-semibold tracking-tight wrap-anywhere"
        style={{ fontSize: figureSize(value) }}
        title={title}
      >
        {value}
      </dd>
      {children && <dd className="small text-muted">{children}</dd>}
    </div>
  )
}

/** The largest size in which a figure of this length fits into its card: a digit is about 0.6 of its height wide, a letter 0.7. */
function figureSize(value: ReactNode): string {
  const text = typeof value === 'string' ? value : ''
  const room = /\p{L}/u.test(text) ? 140 : 165
  return `clamp(1rem, ${Math.floor(room / Math.max(1, text.length))}cqi, 1.75rem)`
}

type FigureProps = { label: string; value: ReactNode; title?: string; children?: ReactNode }

/** Figures side by side, in one row; in two columns on a small screen. */
export function Figures({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-2 gap-3 sm:gap-4 lg:auto-cols-fr lg:grid-flow-col lg:grid-cols-none">{children}</dl>
  )
}
