import { clsx } from 'clsx'
import type { ComponentProps } from 'react'

type Tone = 'primary' | 'plain' | 'warning' | 'danger' | 'quiet'

const TONES: Record<Tone, string> = {
  primary: 'border-accent bg-accent text-on-accent hover:brightness-110',
  plain: 'border-line-strong bg-surface text-text hover:bg-sunken',
  /** Opens a dialog that confirms something irreversible. */
  warning: 'border-line-strong bg-surface text-bad hover:bg-sunken',
  danger: 'border-bad bg-bad text-on-bad hover:brightness-110',
  quiet: 'border-transparent text-text hover:bg-sunken',
}

/** The style of a button, also for links that look like one. */
export function buttonClass(tone: Tone = 'plain', more?: string): string {
  return clsx(
    'control inline-flex items-center justify-center gap-2 border px-4 font-medium whitespace-nowrap no-underline',
    'disabled:opacity-60 aria-disabled:opacity-60',
    TONES[tone],
    more,
  )
}

/** At most one `primary` per view. A `busy` button keeps its size and ignores clicks. */
export function Button({ tone = 'plain', busy = false, className, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={buttonClass(tone, className)}
    />
  )
}

type ButtonProps = Omit<ComponentProps<'button'>, 'aria-disabled'> & { tone?: Tone; busy?: boolean }

/** A square button with an icon. Its name is read out and shown on hover. */
export function IconButton({ label, className, ...rest }: { label: string } & ComponentProps<'button'>) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={clsx(
        'control inline-grid aspect-square shrink-0 place-items-center text-muted hover:bg-sunken hover:text-text',
        className,
      )}
    />
  )
}
