import { Field } from '../../../ui/field.tsx'

/** A line of text of a form whose values, errors and changes go by name. */
export function TextField<N extends string>({ values, errors, onChange, name, label, hint }: TextFieldProps<N>) {
  return (
    <Field label={label} hint={hint} error={errors[name]}>
      {(control) => (
        <input
          {...control}
          name={name}
          autoComplete="off"
          spellCheck={false}
          value={values[name]}
          onChange={({ target }) => onChange({ [name]: target.value } as Partial<Record<N, string>>)}
        />
      )}
    </Field>
  )
}

type TextFieldProps<N extends string> = {
  values: Readonly<Record<N, string>>
  errors: { readonly [K in N]?: string | undefined }
  onChange: (part: Partial<Record<N, string>>) => void
  name: N
  label: string
  hint?: string
}
