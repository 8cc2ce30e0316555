import { useState } from 'react'
import { type ApiOperation, type ApiPrice, changeApi } from '../../../api/apis.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { PRICE_FORM_TEXT } from '../../../messages/price-form.ts'
import { Field, Select } from '../../../ui/field.tsx'
import { parseMicros } from '../../../ui/format/money.ts'
import { ActionForm, fieldText, useOperatorAction } from '../action-form.tsx'
import { PriceFields } from './price-fields.tsx'
import { priceValues, toPrice, validatePrice } from './price-values.ts'

/** Sets what an operation costs its callers, and what it costs the operator. Applies to the next call. */
export function OperationPriceDialog({ api, operation, onClose }: OperationPriceProps) {
  const action = useOperatorAction(
    ({ price, cost, payPerRequest }: { price: ApiPrice; cost: string | null; payPerRequest: boolean | null }) =>
      changeApi(api, {
        operations: [{ id: operation.id, price, upstream_cost_usd: cost, pay_per_request: payPerRequest }],
      }),
    TEXT.priceSet,
    onClose,
  )
  const [values, setValues] = useState(() => priceValues(operation.price))
  return (
    <ActionForm
      title={TEXT.price}
      action={action}
      onClose={onClose}
      read={(form) => {
        const cost = fieldText(form, 'cost')
        const wrong = {
          ...validatePrice(values),
          ...(cost !== '' && parseMicros(cost) === null && { cost: PRICE_FORM_TEXT.amountWrong }),
        }
        if (Object.keys(wrong).length > 0) return { wrong }
        const payPerRequest = { yes: true, no: false }[fieldText(form, 'payPerRequest')] ?? null
        return { values: { price: toPrice(values), cost: cost === '' ? null : cost.replace(/^\$/, ''), payPerRequest } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted wrap-anywhere">{TEXT.priceOf(operation.title ?? operation.id)}</p>
          <PriceFields
            values={values}
            errors={Object.keys(errors).length === 0 ? {} : validatePrice(values)}
            onChange={(part) => setValues((before) => ({ ...before, ...part }))}
          />
          <Field label={TEXT.costField} hint={TEXT.costHint} error={errors['cost']}>
            {(control) => (
              <input
                {...control}
                name="cost"
                inputMode="decimal"
                autoComplete="off"
                defaultValue={operation.upstream_cost_usd ?? ''}
              />
            )}
          </Field>
          <Field label={TEXT.payPerRequest} hint={TEXT.payPerRequestHint}>
            {(control) => (
              <Select
                {...control}
                name="payPerRequest"
                options={TEXT.payPerRequestChoices}
                defaultValue={{ true: 'yes', false: 'no', null: '' }[`${operation.pay_per_request}`]}
              />
            )}
          </Field>
        </>
      )}
    </ActionForm>
  )
}

type OperationPriceProps = { api: string; operation: ApiOperation; onClose: () => void }
