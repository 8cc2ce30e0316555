import { AUTH_TEXT as TEXT } from '../../../messages/upstream-auth.ts'
import { Choice, Choices, Field, PasswordField, Select } from '../../../ui/field.tsx'
import { AUTH_KINDS, type AuthErrors, type AuthValues } from './auth-values.ts'
import { TextField } from './text-field.tsx'

/** How the gateway signs in to the upstream. A secret can be entered, but never read. */
export function AuthFields(props: AuthFieldsProps) {
  const { values, current, onChange } = props
  const kinds = [
    ...(current === null ? [] : [{ value: 'keep', text: `${TEXT.keep} (${current})` }]),
    ...AUTH_KINDS.map((kind) => ({ value: kind, text: TEXT.kinds[kind] })),
  ]
  const { kind } = values
  return (
    <>
      <Field label={TEXT.legend}>
        {(control) => (
          <Select
            {...control}
            name="auth"
            options={kinds}
            value={kind}
            onChange={({ target }) => onChange({ kind: AUTH_KINDS.find((one) => one === target.value) ?? 'keep' })}
          />
        )}
      </Field>
      {(kind === 'header' || kind === 'query') && <TextField {...props} name="name" label={TEXT.names[kind]} />}
      {kind === 'oauth2' && (
        <>
          <TextField {...props} name="tokenUrl" label={TEXT.tokenUrl} />
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField {...props} name="clientId" label={TEXT.clientId} />
            <TextField {...props} name="scope" label={TEXT.scope} />
          </div>
        </>
      )}
      {kind === '402' && <TextField {...props} name="payees" label={TEXT.payees} hint={TEXT.payeesHint} />}
      {kind !== 'none' && kind !== 'keep' && kind !== '402' && <SecretFields {...props} />}
    </>
  )
}

type AuthFieldsProps = {
  values: AuthValues
  errors: AuthErrors
  /** The authentication of an API that is there, without its secret; null for a new one. */
  current: string | null
  onChange: (part: Partial<AuthValues>) => void
}

function SecretFields(props: AuthFieldsProps) {
  const { values, errors, onChange } = props
  return (
    <Choices legend={TEXT.from}>
      <Choice
        name="from"
        label={TEXT.fromText}
        checked={values.from === 'text'}
        onChange={() => onChange({ from: 'text' })}
      />
      <Choice
        name="from"
        label={TEXT.fromVariable}
        checked={values.from === 'environment'}
        onChange={() => onChange({ from: 'environment' })}
      />
      {values.from === 'text' ? (
        <PasswordField
          label={TEXT.secret}
          showLabel={TEXT.showSecret}
          hint={TEXT.secretHint}
          error={errors.secret}
          name="secret"
          autoComplete="off"
          value={values.secret}
          onChange={({ target }) => onChange({ secret: target.value })}
        />
      ) : (
        <TextField {...props} name="variable" label={TEXT.variable} hint={TEXT.variableHint} />
      )}
    </Choices>
  )
}
