import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { operationName } from '../../../messages/requests.ts'
import { Choice, Choices } from '../../../ui/field.tsx'
import { hasMore } from '../typed-settings.ts'
import { BudgetFields } from './budget-fields.tsx'
import { ENDPOINTS } from './endpoints.ts'
import type { KeyFieldsProps } from './key-fields-props.ts'
import { TypedFields } from './typed-fields.tsx'

/** Rarely used settings: budget, endpoints, models and rate limits. Open if the key uses any of them. */
export function AdvancedFields(props: KeyFieldsProps) {
  const { apiKey } = props
  const hasOne = apiKey !== null && (apiKey.budget !== null || apiKey.allowed_endpoints.length > 0 || hasMore(apiKey))
  return (
    <details className="grid gap-4" open={hasOne}>
      <summary className="font-medium">{TEXT.more}</summary>
      <div className="grid gap-4 pt-4">
        <BudgetFields {...props} />
        <EndpointFields {...props} />
        <TypedFields {...props} place="more" />
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
                endpoints: [
                  ...ENDPOINTS.filter((one) => (one === name ? target.checked : values.endpoints.includes(one))),
                  ...values.endpoints.filter((one) => !ENDPOINTS.some((known) => known === one)),
                ],
              })
            }
          />
        ))}
      </div>
    </Choices>
  )
}
