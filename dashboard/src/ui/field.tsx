import { clsx } from 'clsx'
import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import { UI_TEXT } from '../messages/ui.ts'
import { lazyPart } from './feedback/lazy-part.tsx'
import type { SelectProps } from './select-props.ts'

/** The attributes that connect a control to its label, hint and error. */
export interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string
  readonly 'aria-invalid': boolean | undefined
  readonly className: string
}

/** The style of text controls. */
export const INPUT =
  'control w-full border border-line-strong bg-surface px-3 text-base sm:text-sm placeholder:text-muted aria-invalid:border-bad disabled:opacity-60'

/** A label and a control, with the hint or the error below. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const described = `${id}-about`
  return (
    <div className="grid grid-cols-1 content-start gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined, className: INPUT })}
      <div id={described} className={clsx('small', error ? 'text-bad' : 'text-muted')}>
        {error ?? hint}
      </div>
    </div>
  )
}

type FieldProps = {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
  children: (control: ControlProps) => ReactNode
}

/** A named group of radio buttons. */
export function Choices({ legend, error, hint, children }: ChoicesProps) {
  const id = useId()
  return (
    <fieldset aria-describedby={id} className="grid content-start gap-2">
      <legend className="mb-1 font-medium">{legend}</legend>
      {children}
      <div id={id} className={clsx('small', error ? 'text-bad' : 'text-muted')}>
        {error ?? hint}
      </div>
    </fieldset>
  )
}

type ChoicesProps = { legend: string; error?: string | undefined; hint?: ReactNode; children: ReactNode }

export function Choice({ label, type = 'radio', ...rest }: { label: ReactNode } & ComponentProps<'input'>) {
  return (
    <label className="flex min-h-6 items-center gap-2">
      <input type={type} {...rest} className="size-4 shrink-0 accent-accent" />
      {label}
    </label>
  )
}

/** A password field whose content can be shown. */
export function PasswordField({ label, hint, error, showLabel = UI_TEXT.showPassword, ...rest }: PasswordProps) {
  const [shown, setShown] = useState(false)
  return (
    <div className="grid gap-2">
      <Field label={label} hint={hint} error={error}>
        {(control) => <input {...rest} {...control} type={shown ? 'text' : 'password'} />}
      </Field>
      <Choice type="checkbox" label={showLabel} checked={shown} onChange={() => setShown(!shown)} />
    </div>
  )
}

type PasswordProps = { label: string; hint?: ReactNode; error?: string | undefined; showLabel?: string } & Omit<
  ComponentProps<'input'>,
  'type' | 'id' | 'className'
>

/** With more options than this, they are searched. */
const MAX_NATIVE = 20

const Combobox = lazyPart(() => import('./combobox.tsx').then(({ Combobox }) => Combobox), {
  fallback: NativeSelect,
})

/** A searched select draws its own border, so of the look of a field it takes the width alone. */
function fieldSize(className = ''): string {
  return className === INPUT ? 'w-full' : className
}

/** A select with a visible or screen-reader-only label: the browser's own, or a search where there are many options. */
export function Select(props: SelectProps) {
  return props.options.length > MAX_NATIVE ? (
    <Combobox {...props} className={fieldSize(props.className)} inputClass={INPUT} />
  ) : (
    <NativeSelect {...props} />
  )
}

function NativeSelect({
  label,
  options,
  className,
  inputClass: _look,
  ...rest
}: SelectProps & { inputClass?: string }) {
  const groups = [...new Set(options.map(({ group }) => group))]
  return (
    <select
      aria-label={label}
      {...rest}
      className={clsx('control max-w-full min-w-0 border border-line-strong bg-surface px-2', className)}
    >
      {groups.map((group) => {
        const inside = options.filter((option) => option.group === group)
        const shown = inside.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))
        return group === undefined ? (
          shown
        ) : (
          <optgroup key={group} label={group}>
            {shown}
          </optgroup>
        )
      })}
    </select>
  )
}
