import { clsx } from 'clsx'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { Field } from '../../../ui/field.tsx'
import { settingOf, type TypedName, typedNames } from '../typed-settings.ts'
import type { KeyFieldsProps } from './key-fields-props.ts'

/** The settings that are typed into one control each; short ones share a row. */
export function TypedFields({ section, ...props }: KeyFieldsProps & { section: 'first' | 'more' }) {
  const names = typedNames(section)
  if (names.length === 0) return null
  return (
    <div className="grid items-start gap-x-3 gap-y-4 sm:grid-cols-2">
      {names.map((name) => (
        <div key={name} className={clsx(settingOf(name).kind !== 'count' && 'sm:col-span-2')}>
          <TypedField {...props} name={name} />
        </div>
      ))}
    </div>
  )
}

function TypedField({ name, values, errors, onChange, onFieldBlur }: KeyFieldsProps & { name: TypedName }) {
  const { label, hint } = TEXT.typed[name]
  const { kind } = settingOf(name)
  const typing = {
    name,
    value: values[name],
    onChange: ({ target }: { target: { value: string } }) => onChange({ [name]: target.value }),
    onBlur: () => onFieldBlur(name),
  }
  return (
    <Field label={label} hint={hint} error={errors[name]}>
      {({ className, ...control }) =>
        kind === 'count' || kind === 'tags' ? (
          <input {...control} {...typing} className={className} inputMode={kind === 'count' ? 'numeric' : 'text'} />
        ) : (
          <textarea
            {...control}
            {...typing}
            rows={2}
            spellCheck={kind === 'prose'}
            className={clsx(className, 'py-2', kind === 'list' && 'code')}
          />
        )
      }
    </Field>
  )
}
