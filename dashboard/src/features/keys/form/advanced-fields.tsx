import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { operationName } from '../../../messages/requests.ts'
import { Choice, Choices, Field } from '../../../ui/field.tsx'
import { BudgetFields } from './budget-fields.tsx'
import { ENDPOINTS } from './endpoints.ts'
import type { KeyFieldsProps } from './key-fields-props.ts'

/** Rarely used settings: budget, endpoints, models and rate limits. Open if the key uses any of them. */
export function AdvancedFields(props: KeyFieldsProps) {
  const { apiKey } = props
  const hasOne =
    apiKey !== null &&
    (apiKey.budget !== null ||
      apiKey.rpm_limit !== null ||
      apiKey.tpm_limit !== null ||
      apiKey.allowed_endpoints.length + apiKey.allowed_models.length > 0)
  return (
    <details className="grid gap-4" open={hasOne}>
      <summary className="font-medium">{TEXT.more}</summary>
      <div className="grid gap-4 pt-4">
        <BudgetFields {...props} />
        <EndpointFields {...props} />
        <ModelsField {...props} />
        <div className="grid items-start gap-3 sm:grid-cols-2">
          <CapField {...props} cap="rpm" />
          <CapField {...props} cap="tpm" />
        </div>
      </div>
    </details>
  )
}

function EndpointFields({ values, errors, onChange }: KeyFieldsProps) {
  return (
    <Choices legend={TEXT.endpoints} hint={TEXT.endpointsHint} error={errors.endpoints}>
      <div className="grid gap-x-3 gap-y-2 sm:grid-cols-2">
        {ENDPOINTS.map((name) => (
          <Choice
            key={name}
            type="checkbox"
            name="endpoints"
            label={operationName(name)}
            checked={values.endpoints.includes(name)}
            onChange={({ target }) =>
              onChange({
                endpoints: target.checked
                  ? [...values.endpoints, name]
                  : values.endpoints.filter((one) => one !== name),
              })
            }
          />
        ))}
      </div>
    </Choices>
  )
}

function ModelsField({ values, errors, onChange, onFieldBlur }: KeyFieldsProps) {
  return (
    <Field label={TEXT.models} hint={TEXT.modelsHint} error={errors.models}>
      {(control) => (
        <textarea
          {...control}
          name="models"
          rows={2}
          spellCheck={false}
          className={`${control.className} code py-2`}
          value={values.models}
          onChange={(event) => onChange({ models: event.target.value })}
          onBlur={() => onFieldBlur('models')}
        />
      )}
    </Field>
  )
}

function CapField({ values, errors, cap, onChange, onFieldBlur }: KeyFieldsProps & { cap: 'rpm' | 'tpm' }) {
  return (
    <Field label={TEXT[cap]} hint={TEXT.capHint} error={errors[cap]}>
      {(control) => (
        <input
          {...control}
          name={cap}
          inputMode="numeric"
          value={values[cap]}
          onChange={(event) => onChange({ [cap]: event.target.value })}
          onBlur={() => onFieldBlur(cap)}
        />
      )}
    </Field>
  )
}
