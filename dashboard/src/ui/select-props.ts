import type { ComponentProps } from 'react'

/** One of the options of a select. */
export interface Option {
  readonly value: string
  readonly text: string
  readonly group?: string
}

export type SelectProps = {
  /** Only if there is no visible label. */
  label?: string
  options: readonly Option[]
  value?: string
  defaultValue?: string
  onChange?: (event: { readonly target: { readonly value: string } }) => void
  className?: string
} & Pick<
  ComponentProps<'select'>,
  'id' | 'name' | 'disabled' | 'required' | 'autoFocus' | 'aria-describedby' | 'aria-invalid'
>
