import { Field } from '../field.tsx'

/** A secret to copy, as text that selects itself. */
export function SecretField({ label, hint, secret }: { label: string; hint: string; secret: string }) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          readOnly
          value={secret}
          autoComplete="off"
          spellCheck={false}
          className={`${control.className} code`}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </Field>
  )
}
