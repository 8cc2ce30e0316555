import type { OperationField } from '../../api/playground/operations.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { type ControlProps, Field } from '../../ui/field.tsx'
import { countCharacters, countWords, validateField } from './form-values.ts'

/** The input of one parameter. Empty parameters are not sent. */
export function FieldInput({ field, value, files = [], shown, onFiles, onChange }: FieldInputProps) {
  const isEntered = (value ?? '') !== '' || files.length > 0
  const problem = shown || isEntered ? validateField(field, value, files) : null
  return (
    <Field
      label={<span className="code">{field.name}</span>}
      hint={<Hint field={field} value={value ?? ''} />}
      error={problem ?? undefined}
    >
      {(control) =>
        field.type === 'file' ? (
          <input
            {...control}
            type="file"
            name={field.name}
            multiple={field.multiple === true}
            className={`${control.className} py-1.5 file:mr-3 file:border-0 file:bg-transparent file:font-medium`}
            onChange={({ target }) => onFiles?.([...(target.files ?? [])])}
          />
        ) : (
          <Input field={field} value={value ?? ''} control={control} onChange={onChange} />
        )
      }
    </Field>
  )
}

type FieldInputProps = {
  field: OperationField
  value: string | undefined
  files?: readonly File[] | undefined
  /** Whether to show the error of a missing value, after an attempt to send. */
  shown: boolean
  /** Absent where files cannot be sent. */
  onFiles?: (files: readonly File[]) => void
  onChange: (value: string) => void
}

function Input({ field, value, control, onChange }: InputProps) {
  const { type, name, choices, defaultValue, min, max } = field
  if (type === 'choice' || type === 'boolean') {
    const options =
      type === 'choice'
        ? choices.map((choice) => [choice, choice])
        : [
            ['true', TEXT.yes],
            ['false', TEXT.no],
          ]
    return (
      <select {...control} name={name} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{TEXT.unset(defaultValue)}</option>
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    )
  }
  if (type === 'list' || type === 'json')
    return (
      <textarea
        {...control}
        name={name}
        rows={2}
        className={`${control.className} code py-2`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    )
  const isNumber = type === 'integer' || type === 'number'
  return (
    <input
      {...control}
      name={name}
      autoComplete="off"
      {...(isNumber && { type: 'number', step: type === 'integer' ? 1 : 'any' })}
      {...(isNumber && min !== null && { min: min })}
      {...(isNumber && max !== null && { max: max })}
      placeholder={defaultValue === null ? undefined : TEXT.unset(defaultValue)}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

type InputProps = { field: OperationField; value: string; control: ControlProps; onChange: (value: string) => void }

function Hint({ field, value }: { field: OperationField; value: string }) {
  const { maxLength, maxWords, min, max, type, description } = field
  const counts = [
    maxLength !== null && type === 'text' && maxWords !== null && TEXT.characters(countCharacters(value), maxLength),
    maxWords !== null && TEXT.words(countWords(value), maxWords),
  ].filter((count) => count !== false)
  const range = type === 'integer' || type === 'number' ? TEXT.between(min, max) : ''
  return (
    <>
      {description.replaceAll('`', '')} {range} {type === 'list' && TEXT.listHint} {type === 'json' && TEXT.jsonHint}
      {counts.length > 0 && <span className="block">{counts.join(' · ')}</span>}
    </>
  )
}
